"""Where the person is: desktop locked, machine asleep, no input, do not disturb.

One module a source; `watch.Person` joins them. A desktop has some of these sources and lacks
others, and each may come, go and hang: what cannot be known is `None`, quietly.
"""
