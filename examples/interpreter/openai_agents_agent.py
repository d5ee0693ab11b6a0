"""An agent of the OpenAI Agents SDK that runs Python in Assay: ``pip install assaykit openai-agents``."""

import os
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from assay import AsyncClient, AsyncInterpreter, result_text


async def answer(question: str) -> str:
    set_tracing_disabled(True)  # else the conversation goes to OpenAI
    async with AsyncClient() as client:
        interpreter = AsyncInterpreter(client, limits={"wall_seconds": 30})

        @function_tool
        async def run_python(code: str) -> str:
            """Run Python; variables and files stay for the next call. The value of the last expression is returned."""
            return result_text(await interpreter.run(code))

        model = OpenAIChatCompletionsModel(os.environ.get("MODEL", "gpt-5.1"), AsyncOpenAI())
        agent = Agent("Analyst", instructions="Compute with run_python.", tools=[run_python], model=model)
        return str((await Runner.run(agent, question)).final_output)


if __name__ == "__main__":
    import asyncio

    print(asyncio.run(answer(sys.argv[1])))
