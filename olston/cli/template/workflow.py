"""What is sold by country: new orders count at once, and where a customer lives may be a day old."""

import olston as ol

wf = ol.Workflow("demo")

orders = wf.source("orders", "id bigint, customer string, amount int", files="data/orders/*.csv", poll="10 s")
customers = wf.source(
    "customers", "customer string, country string", key="customer", files="data/customers/*.json", poll="10 s"
)

paid = orders.filter("paid", "amount > 0")
located = paid.join("located", customers, on="customer")
totals = located.aggregate("totals", by="country", orders=ol.count(), amount=ol.sum("amount"))

wf.output(totals)
wf.bound_staleness(totals, "orders>paid>located", 0)
wf.bound_staleness(totals, "customers>located", "1 day")
wf.bound_inconsistency(totals, "1 week")
