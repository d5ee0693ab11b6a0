"""A code agent of smolagents whose code runs in Assay: ``pip install assaykit 'smolagents[openai]'``."""

import json
import os
import sys

from smolagents import CodeAgent, OpenAIServerModel
from smolagents.local_python_executor import CodeOutput, InterpreterError, PythonExecutor

from assay import Client, Interpreter

#: What the agent's code calls to end; the answer comes back as a file, so that nothing printed can be taken for it.
FINAL = """
class FinalAnswer(BaseException):
    pass

def final_answer(value):
    import json
    with open("final_answer.json", "w") as file:
        json.dump(value, file, default=str)
    raise FinalAnswer
"""


class AssayExecutor(PythonExecutor):
    """Runs the agent's code in one session of a sandbox. Tools other than ``final_answer`` stay outside."""

    def __init__(self, client: Client, **fields: object) -> None:
        self._client = client
        self._fields = fields
        self._interpreter = Interpreter(client, **fields)
        self._run(FINAL)

    def send_tools(self, tools: dict) -> None:
        if others := sorted(set(tools) - {"final_answer"}):
            raise ValueError(f"these tools would have to run inside the sandbox: {', '.join(others)}")

    def send_variables(self, variables: dict) -> None:
        if variables:
            self._run(f"import json\nglobals().update(json.loads({json.dumps(json.dumps(variables))}))")

    def __call__(self, code_action: str) -> CodeOutput:
        result = self._run(code_action)
        final = next((each for each in result.artifacts if each.path == "final_answer.json"), None)
        if final is not None:
            return CodeOutput(
                json.loads(self._client.files.content(final.file_id)), result.stdout, is_final_answer=True
            )
        if result.verdict.value != "ok":
            said = (
                result.error.traceback if result.error is not None else f"The code was ended: {result.verdict.value}."
            )
            raise InterpreterError(f"{result.stdout}\n{said}")
        return CodeOutput(None if result.value is None else result.value.text, result.stdout, is_final_answer=False)

    def cleanup(self) -> None:
        """Nothing to do: a session ends by itself."""

    def _run(self, code: str):
        return self._interpreter.run(code)


def answer(question: str) -> str:
    with Client() as client:
        model = OpenAIServerModel(os.environ.get("MODEL", "gpt-5.1"), api_base=os.environ.get("OPENAI_BASE_URL"))
        executor = AssayExecutor(client, limits={"wall_seconds": 30})
        return str(CodeAgent(tools=[], model=model, executor=executor).run(question))


if __name__ == "__main__":
    print(answer(sys.argv[1]))
