"""An agent of pydantic-ai that runs Python in Assay: ``pip install assaykit 'pydantic-ai-slim[openai]'``."""

import os
import sys

from pydantic_ai import Agent

from assay import AsyncClient, AsyncInterpreter, result_text


async def answer(question: str) -> str:
    async with AsyncClient() as client:
        interpreter = AsyncInterpreter(client, limits={"wall_seconds": 30})
        agent = Agent(f"openai-chat:{os.environ.get('MODEL', 'gpt-5.1')}", instructions="Compute with run_python.")

        @agent.tool_plain
        async def run_python(code: str) -> str:
            """Run Python; variables and files stay for the next call. The value of the last expression is returned."""
            return result_text(await interpreter.run(code))

        return (await agent.run(question)).output


if __name__ == "__main__":
    import asyncio

    print(asyncio.run(answer(sys.argv[1])))
