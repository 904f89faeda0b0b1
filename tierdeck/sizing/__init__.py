"""The cache model: what a tiered KV cache of given sizes, fed by a given routing, serves from where.

The lab's simulated fleet and the what-if engine run the same model.
"""
