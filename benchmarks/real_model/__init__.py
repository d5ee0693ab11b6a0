"""Every kind of job with a real model server: llama.cpp's, with a model of 135 million parameters.

Such a model solves hardly anything, and that is the point: what is checked is that no job hangs, claims what is not
so, or ends in an internal error, whatever the model writes and whatever happens to its server.
"""
