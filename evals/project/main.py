"""A shop."""

from fastapi import FastAPI

app = FastAPI()
