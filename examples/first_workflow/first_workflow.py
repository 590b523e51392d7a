"""What is sold by country: new orders count at once, and where a customer lives may be a day old."""

import olston as ol

wf = ol.Workflow("first")
orders = wf.source("orders", "id bigint, customer string, amount int")
customers = wf.source("customers", "customer string, country string", key="customer")
located = orders.join("located", customers, on="customer")
totals = located.aggregate("totals", by="country", orders=ol.count(), amount=ol.sum("amount"))
wf.output(totals)
wf.bound_staleness(totals, "orders>located", 0)
wf.bound_staleness(totals, "customers>located", "1 day")
wf.bound_inconsistency(totals, "1 day")

if __name__ == "__main__":
    with ol.Engine(wf, home="lake") as engine:
        rows = engine.spark.createDataFrame
        engine.ingest("customers", rows([("ann", "FR"), ("bob", "US")], "customer string, country string"))
        engine.ingest("orders", rows([(1, "ann", 30), (2, "bob", 5)], "id bigint, customer string, amount int"))
        print(engine.refresh())
        engine.ingest("orders", rows([(3, "ann", 12)], "id bigint, customer string, amount int"))
        print(engine.plan())
        print(engine.refresh())
        engine.read("totals").show()
        print(engine.provenance("totals"))
