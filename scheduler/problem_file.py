"""Planning problems as JSON: `../shared/PROBLEM-FORMAT.md` describes the format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olston.block import BASE, DELTA, MONOTONE, Block, Kind, is_weak, weak
from olston.constraints import Inconsistency, Staleness
from olston.operators import convert
from olston.operators.chain import chain
from olston.operators.signature import Reads, Relaxed, Signature
from olston.provenance import Provenance
from olston.scheduler.network import Network, Output, Price, Variant
from olston.scheduler.problem import Problem
from olston.timeline import History, Timeline
_KINDS = {"B": BASE, "D": DELTA, "D+": MONOTONE}
_NAMES = {kind: name for name, kind in _KINDS.items()}
def read_kind(text): return _KINDS.get(text) or weak(text)
def show_kind(kind): return _NAMES.get(kind) or kind[2:]
def linear(fixed, per_operand, sizes):
    def price(operands):
        return (fixed + sum(w*s for w,s in zip(per_operand, operands)), tuple(sum(w*s for w,s in zip(ws, operands)) for ws in sizes))
    return price
def load(case) -> Problem:
    inputs={c["name"]:tuple(c["paths"]) for c in case["channels"]}
    variants=[]
    for o in case["operators"]:
        reads=tuple(Reads(tuple(read_kind(k) for k in i["kinds"])) for i in o["inputs"])
        sig=Signature(reads, read_kind(o["outputs"][0]["kind"]), o["sync"], monotone=len(reads)==1, relaxed=Relaxed.KEEPS)
        variants.append(Variant(o["name"], o["name"].split(".")[0], sig, tuple(i["channel"] for i in o["inputs"]), tuple(x["channel"] for x in o["outputs"]), linear(o["cost"]["fixed"], o["cost"]["per_operand"], [x["size"] for x in o["outputs"]])))
    for c in case["channels"]:
        n=c["name"]; cc=c["converter_cost"]; f=cc["fixed"]; r=cc["per_unit_read"]
        def add(name, sig, size, n=n, f=f, r=r, listed=True):
            variants.append(Variant(name, n, sig, (n,), (n,), lambda s: (f+r*sum(s), (size(s),)), listed))
        def addchain(kind,n=n):
            variants.append(Variant("chain", n, chain(kind), (n,), (n,), lambda s: (0.0,(sum(s),)), False))
        import dataclasses
        R=lambda s: dataclasses.replace(s, relaxed=Relaxed.KEEPS)
        add("c.DB", R(convert.APPLY), sum); add("c.BD", R(convert.DIFFERENCE), lambda s: abs(s[1]-s[0])); addchain(DELTA)
        for w,d in c["weak"].items():
            k=weak(w); e=d["expand"]; addchain(k)
            for cv in d["converters"]:
                if cv=="wB": add(f"c.{w}B", R(convert.apply_weak(k)), lambda s,e=e: s[0]+e*s[1])
                elif cv=="wD": add(f"c.{w}D", R(convert.strengthen(k)), lambda s,e=e: e*s[1])
                elif cv=="Dw": add(f"c.D{w}", R(convert.weaken(k)), lambda s,e=e: s[0]/e)
                elif cv=="Bw": add(f"c.B{w}", R(convert.weak_difference(k)), lambda s,e=e: abs(s[1]-s[0])/e)
    P=lambda t: None if t is None else Provenance(t)
    blocks={}
    for b in case["blocks"]:
        blocks.setdefault(b["channel"],[]).append(Block(b["channel"], read_kind(b["kind"]), P(b["target"]), P(b["source"]), b["size"]))
    outputs={o["channel"]:Output(o["channel"], frozenset(map(read_kind,o["accepts"]))) for o in case["outputs"]}
    st=tuple(Staleness(k["channel"],k["path"],k["bound"]) for k in case["constraints"] if k["type"]=="staleness")
    inc=tuple(Inconsistency(k["channel"],k["bound"]) for k in case["constraints"] if k["type"]=="inconsistency")
    return Problem(Network(inputs, tuple(variants), outputs, st, inc), blocks, History({c:Timeline(c,a) for c,a in case["arrivals"].items()}, case["now"]), {o["channel"]:P(o["holds"]) for o in case["outputs"]})
