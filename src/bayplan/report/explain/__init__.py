"""Why a pod goes where it goes: verdicts, scores, preemption and the final choice, as text."""
