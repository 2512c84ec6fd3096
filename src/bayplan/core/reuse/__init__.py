"""Answers for a pod from those for pods before it, equal to what `cycle.attempt` would say.

Between two decisions mostly one node has changed, so nearly all that is known of nodes still holds. Whoever knows
something of every node is a `Follower` (`core/following.py`): it reads the logs of changed rows and looks at these
again. What is kept is of two kinds:

- **Boards**, one for each signature: pods that the local plugins sign alike (`sign_pod`) get the same from them. A
  `NodeBoard` holds what follows from node objects alone, for the signature of plugins that look at nothing else; a
  `Board` stands on one and adds what follows usage: which nodes pass, why others do not, and a ranking of all. Beside
  a board are those who would have to leave for such pods (`preempting.py`), and the nodes that are crowded by nominated
  pods (`crowding.py`).
- **Shape answers**, one for each shape: they rest on a board, ask the plugins that read the CLUSTER, and choose.

`deciding.Decider` keeps both, and decides who gets which. A pod unlike any before gets neither (`first_sight.py`).
`appraisal.py` works out rows of a board, `scales.py` its normalized scores.
"""
