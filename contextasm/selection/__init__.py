"""Selection: the budget shared among layers, fragments shortened or dropped, tokens counted, decisions made.

No fragment is retrieved or ranked here, and no heading or marker is worded.
"""
