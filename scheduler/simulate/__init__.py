"""The simulator [7]: a workflow, its rates and costs in; weeks of simulated time out.

It encapsulates everything but the execution of operators: the same workflows, the same planner, the
same retirement of blocks as the running system.
"""
