# SPDX-License-Identifier: BSD-3-Clause
"""What includes other things can be compiled in one unit with them, one after the other: each sees only what it includes,
if it includes all that stands before it. So a chain of headers, each of which includes the one before, is checked by one
process as well as by one for each.
"""


def chains_of(included):
    """The fewest chains that hold all names, each of which is given with what it includes, directly or not. Of two names in
    a chain, the later includes the former, or all that it includes and more."""
    sets = {name: frozenset(others) for name, others in included.items()}
    names = sorted(included, key=lambda name: len(sets[name]))
    after = {name: [other for other in reversed(names) if other != name and sets[other] < sets[name]] for name in names}
    follower, former = {}, {}  # of the matching: who comes after whom
    for name in names:
        extend(name, after, follower, former)
    result = []
    for name in names:
        if name not in former:
            chain = [name]
            while chain[-1] in follower:
                chain.append(follower[chain[-1]])
            result.append(chain)
    return result


def extend(start, after, follower, former):
    """Gives a name one that it comes after, if need be by giving others' away for other ones (an augmenting path)."""
    came_from, waiting = {}, [start]
    for name in waiting:
        for other in after[name]:
            if other in came_from:
                continue
            came_from[other] = name
            if other in follower:
                waiting.append(follower[other])
                continue
            while True:  # back along the path
                name = came_from[other]
                next_other = former.get(name)
                former[name], follower[other] = other, name
                if name == start:
                    return
                other = next_other
