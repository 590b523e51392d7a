"""Feedback prioritization [4.1, Figure 6]: what users did with news results is processed first."""
