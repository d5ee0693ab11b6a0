"""A LangGraph graph that runs Python in Assay: ``pip install assaykit langgraph langchain-openai``."""

import os
import sys

from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

from assay import Client, Interpreter, result_text


def answer(question: str) -> str:
    with Client() as client:
        interpreter = Interpreter(client, limits={"wall_seconds": 30})

        @tool
        def run_python(code: str) -> str:
            """Run Python; variables and files stay for the next call. The value of the last expression is returned."""
            return result_text(interpreter.run(code))

        model = ChatOpenAI(model=os.environ.get("MODEL", "gpt-5.1")).bind_tools([run_python])

        def ask(state: MessagesState) -> dict:
            return {"messages": [model.invoke(state["messages"])]}

        def run(state: MessagesState) -> dict:
            calls = state["messages"][-1].tool_calls
            return {
                "messages": [ToolMessage(run_python.invoke(call["args"]), tool_call_id=call["id"]) for call in calls]
            }

        graph = StateGraph(MessagesState)
        graph.add_node("ask", ask)
        graph.add_node("run", run)
        graph.add_edge(START, "ask")
        graph.add_conditional_edges("ask", lambda state: "run" if state["messages"][-1].tool_calls else END)
        graph.add_edge("run", "ask")
        messages = graph.compile().invoke({"messages": [("user", question)]})["messages"]
        return str(messages[-1].content)


if __name__ == "__main__":
    print(answer(sys.argv[1]))
