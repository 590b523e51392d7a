"""What is sold by country: new orders count at once, and where a customer lives may be a day old."""

import olston as ol

wf = ol.Workflow("first")
orders = wf.source("orders", "customer string, amount int")
customers = wf.source("customers", "customer string, country string", key="customer")
located = orders.join("located", customers, on="customer")
totals = located.aggregate("totals", by="country", orders=ol.count(), amount=ol.sum("amount"))
wf.output(totals)
wf.bound_staleness(totals, "orders>located", 0)
wf.bound_staleness(totals, "customers>located", "1 day")
wf.bound_inconsistency(totals, "1 week")

with ol.Engine(wf, home="lake") as engine:
    rows = engine.spark.createDataFrame
    engine.ingest("customers", rows([("ann", "FR"), ("bob", "US")], "customer string, country string"))
    engine.ingest("orders", rows([("ann", 30), ("bob", 5)], "customer string, amount int"))
    print(engine.refresh(), engine.provenance("totals"), sep="\n\n")
    engine.read("totals").show()
