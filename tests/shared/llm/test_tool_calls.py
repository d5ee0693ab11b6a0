"""Tool calls in every dialect that models answer in: one meaning, one call."""

from __future__ import annotations

import json

import pytest

from shared.flows.tools.table import OFFERED
from shared.llm.chat import Tool, ToolUse
from shared.llm.tagged import Tagged, parse_tagged
from shared.llm.tool_calls.items import normalized
from shared.llm.tool_calls.known import KnownTools

TOOLS = tuple(Tool(tool.name, tool.description, tool.parameters) for tool in OFFERED)
KNOWN = KnownTools(TOOLS)

PROFILE = ("addNode", {"label": "Profile", "parentNodeId": "home"})
HELP = ("addNode", {"label": "Help"})
INPUT = '{"label": "Profile", "parentNodeId": "home"}'
TEXT = json.dumps(INPUT)
USUAL = f'{{"type": "tool_use", "id": "t1", "name": "addNode", "input": {INPUT}}}'

ITEMS = {
    "usual": USUAL,
    "arguments": f'{{"name": "addNode", "arguments": {INPUT}}}',
    "parameters": f'{{"name": "addNode", "parameters": {INPUT}}}',
    "args": f'{{"name": "addNode", "args": {INPUT}}}',
    "kwargs": f'{{"name": "addNode", "kwargs": {INPUT}}}',
    "arguments as text": f'{{"name": "addNode", "arguments": {TEXT}}}',
    "input as text": f'{{"name": "addNode", "input": {TEXT}}}',
    "text of a text": f'{{"name": "addNode", "input": {json.dumps(TEXT)}}}',
    "OpenAI function": f'{{"id": "call_1", "type": "function", "function": {{"name": "addNode", "arguments": {TEXT}}}}}',
    "OpenAI function, object": f'{{"type": "function", "function": {{"name": "addNode", "arguments": {INPUT}}}}}',
    "function and arguments": f'{{"function": "addNode", "arguments": {INPUT}}}',
    "Gemini": f'{{"functionCall": {{"name": "addNode", "args": {INPUT}}}}}',
    "function_call": f'{{"function_call": {{"name": "addNode", "arguments": {TEXT}}}}}',
    "tool": f'{{"tool": "addNode", "input": {INPUT}}}',
    "tool_name": f'{{"tool_name": "addNode", "parameters": {INPUT}}}',
    "toolName": f'{{"toolName": "addNode", "args": {INPUT}}}',
    "tool object": f'{{"tool": {{"name": "addNode", "input": {INPUT}}}}}',
    "action": f'{{"action": "addNode", "action_input": {INPUT}}}',
    "method": f'{{"jsonrpc": "2.0", "method": "addNode", "params": {INPUT}, "id": 1}}',
    "recipient": f'{{"recipient_name": "functions.addNode", "parameters": {INPUT}}}',
    "parallel": f'{{"name": "multi_tool_use.parallel", "arguments": {{"tool_uses": [{{"recipient_name": "functions.addNode", "parameters": {INPUT}}}]}}}}',
    "next to the name": '{"name": "addNode", "label": "Profile", "parentNodeId": "home"}',
    "next to the tool": '{"tool": "addNode", "label": "Profile", "parentNodeId": "home"}',
    "next to the name, with id": '{"id": "call_7", "name": "addNode", "label": "Profile", "parentNodeId": "home"}',
    "type is the tool": '{"type": "addNode", "label": "Profile", "parentNodeId": "home"}',
    "tool is the key": f'{{"addNode": {INPUT}}}',
    "list of one object": f'{{"name": "addNode", "input": [{INPUT}]}}',
    "pairs": '{"name": "addNode", "arguments": [{"name": "label", "value": "Profile"}, {"name": "parentNodeId", "value": "home"}]}',
    "wrapped twice": f'{{"name": "addNode", "input": {{"arguments": {INPUT}}}}}',
    "functions prefix": f'{{"name": "functions.addNode", "input": {INPUT}}}',
    "numbered": f'{{"name": "functions.addNode:0", "input": {INPUT}}}',
    "mcp prefix": f'{{"name": "mcp__flow__addNode", "input": {INPUT}}}',
    "api prefix": f'{{"name": "default_api.addNode", "input": {INPUT}}}',
    "snake case": '{"name": "add_node", "input": {"label": "Profile", "parent_node_id": "home"}}',
    "kebab case": f'{{"name": "add-node", "input": {INPUT}}}',
    "Pascal case": f'{{"name": "AddNode", "input": {INPUT}}}',
    "parentheses": f'{{"name": "addNode()", "input": {INPUT}}}',
    "code for a name": """{"name": "addNode(label='Profile', parentNodeId='home')"}""",
    "keywords for arguments": """{"name": "addNode", "arguments": "label='Profile', parentNodeId='home'"}""",
    "numbered keys": f'{{"1": {{"name": "addNode", "input": {INPUT}}}}}',
    "OpenAI Responses": f'{{"output": [{{"type": "function_call", "call_id": "x", "name": "addNode", "arguments": {TEXT}}}]}}',
    "Bedrock": f'{{"toolUse": {{"toolUseId": "x", "name": "addNode", "input": {INPUT}}}}}',
    "whole Bedrock answer": f'{{"output": {{"message": {{"role": "assistant", "content": [{{"text": "I add it."}}, {{"toolUse": {{"toolUseId": "x", "name": "addNode", "input": {INPUT}}}}}]}}}}, "stopReason": "tool_use"}}',
    "whole Gemini answer": f'{{"candidates": [{{"content": {{"role": "model", "parts": [{{"functionCall": {{"name": "addNode", "args": {INPUT}}}}}]}}}}]}}',
    "whole Ollama answer": f'{{"message": {{"role": "assistant", "content": "", "tool_calls": [{{"function": {{"name": "addNode", "arguments": {INPUT}}}}}]}}}}',
    "MCP": f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": "addNode", "arguments": {INPUT}}}}}',
    "AutoGPT": f'{{"thoughts": {{"text": "add it", "plan": "- add"}}, "command": {{"name": "addNode", "args": {INPUT}}}}}',
    "Semantic Kernel": f'{{"name": "Flow-addNode", "arguments": {INPUT}}}',
    "namespace before the name": f'{{"name": "flow_addNode", "arguments": {INPUT}}}',
    "pairs with keys": '{"name": "addNode", "parameters": [{"key": "label", "value": "Profile"}, {"key": "parentNodeId", "value": "home"}]}',
    "in data": f'{{"data": {{"tool_calls": [{{"name": "addNode", "input": {INPUT}}}]}}}}',
    "in edits": f'{{"edits": [{{"tool": "addNode", "input": {INPUT}}}]}}',
    "with a plan": f'{{"plan": "add a page", "tool_calls": [{{"name": "addNode", "input": {INPUT}}}], "confidence": 0.9}}',
    "AI SDK": f'{{"type": "tool-call", "toolCallId": "1", "toolName": "addNode", "input": {INPUT}}}',
    "pair": f'["addNode", {INPUT}]',
    "operation with a value": f'{{"op": "addNode", "value": {INPUT}}}',
    "type with data": f'{{"type": "addNode", "data": {INPUT}}}',
    "command with options": f'{{"command": "addNode", "options": {INPUT}}}',
    "fn": f'{{"fn": "addNode", "args": {INPUT}}}',
    "func": f'{{"func": "addNode", "arguments": {INPUT}}}',
    "capital members": f'{{"Name": "addNode", "Input": {INPUT}}}',
    "with an explanation": '{"explanation": "a page", "tool": "addNode", "label": "Profile", "parentNodeId": "home"}',
    "block": f'{{"type": "tool_use", "tool_use": {{"name": "addNode", "input": {INPUT}}}}}',
}

ANSWERS = {
    "bare array": f"[{USUAL}]",
    "bare object": USUAL,
    "prose before": f"I'll add the page.\n[{USUAL}]",
    "prose around": f"Sure!\n\n{USUAL}\n\nDone.",
    "code block": f"I'll add the page.\n```json\n[{USUAL}]\n```",
    "code block without a language": f"```\n{USUAL}\n```\nThat is it.",
    "unclosed code block": f"```json\n[{USUAL}]",
    "code block with mistakes": "```json\n[{'name': 'addNode', 'input': {'label': 'Profile', 'parentNodeId': 'home',}},]\n```",
    "tool_code": '```tool_code\naddNode(label="Profile", parentNodeId="home")\n```',
    "python block": '```python\nprint(default_api.addNode(label="Profile", parentNodeId="home"))\n```',
    "tool_calls": f'{{"tool_calls": [{USUAL}]}}',
    "whole OpenAI answer": f'{{"choices": [{{"message": {{"role": "assistant", "content": null, "tool_calls": [{ITEMS["OpenAI function"]}]}}}}]}}',
    "Claude content": f'{{"role": "assistant", "content": [{{"type": "text", "text": "I add it."}}, {USUAL}]}}',
    "thinking and response in JSON": f'{{"thinking": "why", "response": [{USUAL}]}}',
    "response as text in JSON": f'{{"thinking": "why", "response": {json.dumps(f"[{USUAL}]")}}}',
    "lists in lists": f"[[{USUAL}]]",
    "tool_call": f"<tool_call>\n{ITEMS['arguments']}\n</tool_call>",
    "tool_call unclosed": f"<tool_call>\n{ITEMS['arguments']}",
    "tool_call, prose": f"I will.\n<tool_call>{ITEMS['arguments']}</tool_call>\nOne moment.",
    "tool_calls tag": f"<tool_calls>[{ITEMS['arguments']}]</tool_calls>",
    "tool_use tag": f"<tool_use>{USUAL}</tool_use>",
    "tool_use with tags": f"<tool_use><name>addNode</name><arguments>{INPUT}</arguments></tool_use>",
    "GLM": "<tool_call>addNode\n<arg_key>label</arg_key>\n<arg_value>Profile</arg_value>\n<arg_key>parentNodeId</arg_key>\n<arg_value>home</arg_value>\n</tool_call>",
    "Qwen coder": "<tool_call>\n<function=addNode>\n<parameter=label>\nProfile\n</parameter>\n<parameter=parentNodeId>\nhome\n</parameter>\n</function>\n</tool_call>",
    "invoke": '<function_calls>\n<invoke name="addNode">\n<parameter name="label">Profile</parameter>\n<parameter name="parentNodeId">home</parameter>\n</invoke>\n</function_calls>',
    "invoke alone": '<invoke name="addNode"><parameter name="label">Profile</parameter><parameter name="parentNodeId">home</parameter></invoke>',
    "invoke with prefix": '<a:function_calls><a:invoke name="addNode"><a:parameter name="label">Profile</a:parameter><a:parameter name="parentNodeId">home</a:parameter></a:invoke></a:function_calls>',
    "invoke with JSON": f'<invoke name="addNode">{INPUT}</invoke>',
    "Llama function": f"<function=addNode>{INPUT}</function>",
    "Llama python tag": f'<|python_tag|>{{"name": "addNode", "parameters": {INPUT}}}<|eom_id|>',
    "Llama python tag, code": '<|python_tag|>addNode(label="Profile", parentNodeId="home")',
    "Mistral": f"[TOOL_CALLS][{ITEMS['arguments']}]",
    "Mistral with a name": f"[TOOL_CALLS]addNode{INPUT}",
    "Mistral with args": f"[TOOL_CALLS]addNode[ARGS]{INPUT}",
    "Phi": f"functools[{ITEMS['arguments']}]",
    "Granite": f"<|tool_call|>[{ITEMS['arguments']}]",
    "Kimi": f"<|tool_calls_section_begin|><|tool_call_begin|>functions.addNode:0<|tool_call_argument_begin|>{INPUT}<|tool_call_end|><|tool_calls_section_end|>",
    "DeepSeek": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>addNode\n```json\n{INPUT}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "gpt-oss": f"<|channel|>commentary to=functions.addNode <|constrain|>json<|message|>{INPUT}<|call|>",
    "ReAct": f"Thought: a page.\nAction: addNode\nAction Input: {INPUT}",
    "ReAct in bold": f"**Thought:** a page.\n**Action:** addNode\n**Action Input:** {INPUT}\nObservation: ",
    "tool as tag": "<addNode>\n<label>Profile</label>\n<parentNodeId>home</parentNodeId>\n</addNode>",
    "tool as empty tag": '<addNode label="Profile" parentNodeId="home"/>',
    "Python call": 'addNode(label="Profile", parentNodeId="home")',
    "Python call, prose": 'I add it:\n\naddNode(label="Profile", parentNodeId="home")\n\nDone.',
    "Python call in a list item": 'Calls:\n- `addNode(label="Profile", parentNodeId="home")`',
    "Python list": '[addNode(label="Profile", parentNodeId="home")]',
    "Python assignment": 'profile = addNode(label="Profile", parentNodeId="home")',
    "Python prefix": 'functions.addNode(label="Profile", parentNodeId="home")',
    "Python on several lines": 'addNode(\n    label="Profile",\n    parentNodeId="home",\n)',
    "JavaScript": 'await addNode({ label: "Profile", parentNodeId: "home" });',
    "JavaScript declaration": 'const page = await functions.addNode({label: "Profile", parentNodeId: "home"}); // the page',
    "name and JSON": f"addNode {INPUT}",
    "name, colon, JSON": f"addNode: {INPUT}",
    "YAML list": "```yaml\n- name: addNode\n  input:\n    label: Profile\n    parentNodeId: home\n```",
    "YAML mapping": "```yaml\ntool: addNode\nparams:\n  label: Profile\n  parentNodeId: home\n```",
    "YAML, tool is the key": "```yaml\naddNode:\n  label: Profile\n  parentNodeId: home\n```",
    "YAML without a block": "- tool: addNode\n  label: Profile\n  parentNodeId: home",
    "YAML tool_calls": "tool_calls:\n  - name: addNode\n    arguments:\n      label: Profile\n      parentNodeId: home",
    "YAML in a line": "- addNode: {label: Profile, parentNodeId: home}",
    "TOML": '[[tool_calls]]\nname = "addNode"\n\n[tool_calls.input]\nlabel = "Profile"\nparentNodeId = "home"',
    "Cohere": f'Action: ```json\n[\n  {{\n    "tool_name": "addNode",\n    "parameters": {INPUT}\n  }}\n]```',
    "Cohere tokens": f'<|START_THINKING|>I add it.<|END_THINKING|><|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "addNode", "parameters": {INPUT}}}]<|END_ACTION|>',
    "DeepSeek DSML": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="addNode">\n<｜DSML｜parameter name="label" string="true">Profile</｜DSML｜parameter>\n<｜DSML｜parameter name="parentNodeId" string="true">home</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    "MiniMax": '<minimax:tool_call>\n<invoke name="addNode">\n<parameter name="label">Profile</parameter>\n<parameter name="parentNodeId">home</parameter>\n</invoke>\n</minimax:tool_call>',
    "Seed": "<seed:tool_call>\n<function=addNode>\n<parameter=label>Profile</parameter>\n<parameter=parentNodeId>home</parameter>\n</function>\n</seed:tool_call>",
    "Gorilla": '<<function>>addNode(label="Profile", parentNodeId="home")',
    "Functionary": f">>>addNode\n{INPUT}",
    "Nemotron": f'<TOOLCALL>[{{"name": "addNode", "arguments": {INPUT}}}]</TOOLCALL>',
    "Llama 4": '<|python_start|>[addNode(label="Profile", parentNodeId="home")]<|python_end|>',
    "FunctionGemma": "<start_function_call>call:addNode{label:<escape>Profile<escape>,parentNodeId:<escape>home<escape>}<end_function_call>",
    "InternLM": f'<|action_start|><|plugin|>\n{{"name": "addNode", "parameters": {INPUT}}}<|action_end|>',
    "Apertus": f'<|tools_prefix|>[{{"addNode": {INPUT}}}]<|tools_suffix|>',
    "Cline": f"<use_mcp_tool>\n<server_name>flow</server_name>\n<tool_name>addNode</tool_name>\n<arguments>\n{INPUT}\n</arguments>\n</use_mcp_tool>",
    "Qwen 1": f"✿FUNCTION✿: addNode\n✿ARGS✿: {INPUT}\n✿RESULT✿",
    "command line": 'addNode --label "Profile" --parentNodeId home',
    "command line with =": '$ addNode --label="Profile" --parentNodeId="home"',
    "tool with attributes": '<tool name="addNode" label="Profile" parentNodeId="home"/>',
    "call with elements": '<call tool="addNode"><label>Profile</label><parentNodeId>home</parentNodeId></call>',
    "JSON in an attribute": f"""<tool_call name="addNode" arguments='{INPUT}'/>""",
    "function_call with a name": f'<function_call name="addNode">{INPUT}</function_call>',
    "function with args": '<function name="addNode"><arg name="label">Profile</arg><arg name="parentNodeId">home</arg></function>',
    "Ruby": 'addNode(label: "Profile", parentNodeId: "home")',
    "Python, first argument without a name": 'addNode("Profile", parentNodeId="home")',
    "JavaScript template": "addNode({label: `Profile`, parentNodeId: `home`});",
    "JavaScript Promise.all": 'await Promise.all([\n  addNode({label: "Profile", parentNodeId: "home"}),\n]);',
    "ReAct with code": 'Thought: x\nAction: addNode(label="Profile", parentNodeId="home")',
    "ReAct with brackets": 'Thought: x\nAction: addNode[label="Profile", parentNodeId="home"]',
    "ReAct with keywords": 'Action: addNode\nAction Input: label="Profile", parentNodeId="home"',
    "ReAct with lines": "Action: addNode\nAction Input:\n  label: Profile\n  parentNodeId: home",
    "escaped tags": '&lt;tool_call&gt;{"name": "addNode", "arguments": {&quot;label&quot;: &quot;Profile&quot;, &quot;parentNodeId&quot;: &quot;home&quot;}}&lt;/tool_call&gt;',
    "typographic quotes": "[{“name”: “addNode”, “input”: {“label”: “Profile”, “parentNodeId”: “home”}}]",
    "smolagents": 'Thought: add it.\nCode:\n```py\naddNode(label="Profile", parentNodeId="home")\n```<end_code>',
    "code tag": 'Thought: add it.\n<code>\naddNode(label="Profile", parentNodeId="home")\n</code>',
    "heading and block": f"### Tool call: addNode\n```json\n{INPUT}\n```",
    "name and block": f"addNode\n```json\n{INPUT}\n```",
    "name and list": "**addNode**\n- label: Profile\n- parentNodeId: home",
    "words and JSON": f"Tool: addNode\nParameters: {INPUT}",
    "Tool and Input": f"Tool: addNode\nInput: {INPUT}",
    "Mistral with a call id": f"[TOOL_CALLS]addNode[CALL_ID]abc[ARGS]{INPUT}",
    "OLMo": '<function_calls>\naddNode(label="Profile", parentNodeId="home")\n</function_calls>',
    "LFM": '<|tool_call_start|>[addNode(label="Profile", parentNodeId="home")]<|tool_call_end|>',
    "Hunyuan": f"<tool_calls><tool_call>addNode\n```json\n{INPUT}\n```</tool_call></tool_calls>",
    "Step": f"<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>addNode\n```json\n{INPUT}\n```<｜tool_call_end｜>",
    "gpt-oss with analysis": f"<|start|>assistant<|channel|>analysis<|message|>plan<|end|><|start|>assistant to=functions.addNode<|channel|>commentary json<|message|>{INPUT}<|call|>",
    "args in tags": "<tool_call><tool>addNode</tool><args><label>Profile</label><parentNodeId>home</parentNodeId></args></tool_call>",
    "toolCall in tags": "<toolCall><name>addNode</name><input><label>Profile</label><parentNodeId>home</parentNodeId></input></toolCall>",
    "param with key": '<invoke tool="addNode"><param key="label">Profile</param><param key="parentNodeId">home</param></invoke>',
    "parameter with value": '<invoke name="addNode"><parameter name="label" value="Profile"/><parameter name="parentNodeId" value="home"/></invoke>',
    "answer tag": f'<answer>[{{"name": "addNode", "input": {INPUT}}}]</answer>',
    "JavaScript constant": f'const calls = [{{"name": "addNode", "input": {INPUT}}}];',
    "action with a type": '<action type="addNode"><label>Profile</label><parentNodeId>home</parentNodeId></action>',
    "arrows": f"→ addNode {INPUT}",
    "words in capitals": f"CALL addNode WITH {INPUT}",
    "JavaScript function": "async function run() {\n  await addNode({label: 'Profile', parentNodeId: 'home'});\n}\nrun();",
    "array of code": '["addNode(label=\\"Profile\\", parentNodeId=\\"home\\")"]',
}


def calls(answer: Tagged) -> list[tuple[str, dict[str, object]]]:
    assert answer.error is None, answer.error
    return [(call.name, dict(call.params)) for call in answer.calls]


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_every_shape_of_a_call_is_the_same_call(item: str) -> None:
    for text in (
        f"<thinking>why</thinking><response>[{item}]</response>",
        f"<response>{item}</response>",
        f"<thinking>why</thinking>\n```json\n[{item}]\n```",
        f"<tool_call>{item}</tool_call>",
        item,
    ):
        assert calls(parse_tagged(text, TOOLS)) == [PROFILE], text


@pytest.mark.parametrize("body", ANSWERS.values(), ids=ANSWERS)
def test_every_dialect_is_read_inside_the_tags_and_without_them(body: str) -> None:
    for text in (
        body,
        f"<thinking>why</thinking>\n{body}",
        f"<thinking>why</thinking>\n<response>\n{body}\n</response>",
    ):
        answer = parse_tagged(text, TOOLS)
        assert calls(answer) == [PROFILE], text
        assert answer.repaired or body in (f"[{USUAL}]", USUAL)


@pytest.mark.parametrize(
    "body",
    [
        f"[{USUAL}, {{'name': 'addNode', 'input': {{'label': 'Help'}}}}]",
        f'{{"tool_calls": [{USUAL}, {{"tool": "addNode", "label": "Help"}}]}}',
        f"```json\n{USUAL}\n```\nand\n```json\n" + '{"name": "addNode", "input": {"label": "Help"}}\n```',
        f"<tool_call>{USUAL}</tool_call>\n<tool_call>"
        + '{"name": "addNode", "arguments": {"label": "Help"}}</tool_call>',
        'addNode(label="Profile", parentNodeId="home")\naddNode(label="Help")',
        '[addNode(label="Profile", parentNodeId="home"), addNode(label="Help")]',
        'addNode(label="Profile", parentNodeId="home"); addNode("Help")',
        'First:\naddNode(label="Profile", parentNodeId="home")\nthen:\naddNode(label="Help")',
        f'addNode {INPUT}\naddNode {{"label": "Help"}}',
        f'{{"addNode": [{INPUT}, {{"label": "Help"}}]}}',
        f'[TOOL_CALLS]addNode{INPUT}[TOOL_CALLS]addNode{{"label": "Help"}}',
        f'First {USUAL} and then {{"name": "addNode", "input": {{"label": "Help"}}}}.',
        "- name: addNode\n  input:\n    label: Profile\n    parentNodeId: home\n- tool: addNode\n  label: Help",
        "tool: addNode\nlabel: Profile\nparentNodeId: home\n---\ntool: addNode\nlabel: Help",
        "addNode --label Profile --parentNodeId home\naddNode --label Help",
        f'Tool: addNode\nParameters: {INPUT}\n\nTool: addNode\nParameters: {{"label": "Help"}}',
        "1. **addNode**\n   - label: Profile\n   - parentNodeId: home\n2. **addNode**\n   - label: Help",
        'addNode(label: "Profile", parentNodeId: "home")\naddNode(label: "Help")',
        f'<tools><tool name="addNode">{INPUT}</tool><tool name="addNode" label="Help"/></tools>',
        f'["addNode", {INPUT}, "addNode", {{"label": "Help"}}]',
        f'{{"1": {USUAL}, "2": {{"tool": "addNode", "label": "Help"}}}}',
        f'{{"data": {{"edits": [{USUAL}, {{"toolUse": {{"name": "addNode", "input": {{"label": "Help"}}}}}}]}}}}',
    ],
)
def test_several_calls_keep_their_order(body: str) -> None:
    for text in (body, f"<response>{body}</response>"):
        answer = parse_tagged(text, TOOLS)
        assert calls(answer) == [PROFILE, HELP]
        assert len({call.id for call in answer.calls}) == 2


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('addNode(label="A (b), c", description=None)', ("addNode", {"label": "A (b), c", "description": None})),
        ("toggleGroupExpansion(groupId='g', expand=True)", ("toggleGroupExpansion", {"groupId": "g", "expand": True})),
        (
            'toggleGroupExpansion({groupId: "g", expand: false})',
            ("toggleGroupExpansion", {"groupId": "g", "expand": False}),
        ),
        (
            'updateNode(nodeId="a", position={"x": 1, "y": -2.5})',
            ("updateNode", {"nodeId": "a", "position": {"x": 1, "y": -2.5}}),
        ),
        ("undo()", ("undo", {})),
        ('addEdge("a", "b")', ("addEdge", {"sourceNodeId": "a", "targetNodeId": "b"})),
        ('createGroup(["a", "b"])', ("createGroup", {"memberIds": ["a", "b"]})),
        ('addNode(**{"label": "A"})', ("addNode", {"label": "A"})),
        ('addNode(label="see https://x.io // y")', ("addNode", {"label": "see https://x.io // y"})),
        (
            '<invoke name="createGroup"><parameter name="memberIds">["a", "b"]</parameter></invoke>',
            ("createGroup", {"memberIds": ["a", "b"]}),
        ),
        (
            '<invoke name="toggleGroupExpansion"><parameter name="groupId">g</parameter><parameter name="expand">true</parameter></invoke>',
            ("toggleGroupExpansion", {"groupId": "g", "expand": True}),
        ),
        (
            '<invoke name="addNode"><parameter name="label">a &lt; b</parameter></invoke>',
            ("addNode", {"label": "a < b"}),
        ),
        ('<response>[{"name": "deleteNode", "input": {"nodeId": 5}}]</response>', ("deleteNode", {"nodeId": "5"})),
        ('[{"name": "undo"}]', ("undo", {})),
        ("```yaml\n- addNode: {label: No}\n```", ("addNode", {"label": "No"})),
        ("- addNode:\n    label: 5", ("addNode", {"label": "5"})),
        (
            "updateNode:\n  nodeId: a\n  position: {x: 1, y: -2.5}",
            ("updateNode", {"nodeId": "a", "position": {"x": 1, "y": -2.5}}),
        ),
        ("createGroup:\n  memberIds:\n    - a\n    - b", ("createGroup", {"memberIds": ["a", "b"]})),
        ("Action: undo", ("undo", {})),
        ('{"name": "addEdge", "args": ["a", "b"]}', ("addEdge", {"sourceNodeId": "a", "targetNodeId": "b"})),
        ("<addNode label='a &lt; b'/>", ("addNode", {"label": "a < b"})),
        ("<tool name='addNode'><label><![CDATA[<b>]]></label></tool>", ("addNode", {"label": "<b>"})),
        ('[{"name": "undo", "arguments": ""}]', ("undo", {})),
        (
            '[{"name": "addNode", "id": "profile", "label": "Profile"}]',
            ("addNode", {"id": "profile", "label": "Profile"}),
        ),
        ('[{"name": "addNode", "input": {"id": "call_1", "label": "A"}}]', ("addNode", {"id": "call_1", "label": "A"})),
    ],
)
def test_values_keep_their_types_and_texts(text: str, call: tuple[str, object]) -> None:
    assert calls(parse_tagged(text, TOOLS)) == [call]


def test_an_unknown_tool_stays_as_it_was_written_so_that_the_engine_can_suggest_one() -> None:
    for text in (
        '<response>[{"name": "addNod", "input": {"label": "A"}}]</response>',
        "<response>addNod(label='A')</response>",
        '<tool_call>{"name": "addNod", "arguments": {"label": "A"}}</tool_call>',
        '<thinking>x</thinking>[{"name": "addNod", "input": {"label": "A"}}]',
    ):
        assert calls(parse_tagged(text, TOOLS)) == [("addNod", {"label": "A"})]


@pytest.mark.parametrize(
    "text",
    [
        "<thinking>I call addNode(label='A')</thinking>",
        f"<thinking>I will send\n[{USUAL}]",
        f"<thinking>plan: <tool_call>{USUAL}</tool_call></thinking>",
        "<thinking>x</thinking>I have added the node Profile.",
        "<thinking>x</thinking>You could run addNode(label) next.",
        '<thinking>x</thinking>addNode(label="A", parentNodeId=home.id)',
        '<thinking>x</thinking>addNode("A", "b", "c", "d")',
        '<thinking>x</thinking>addNode(label="A',
        '<thinking>x</thinking>for name in ("a", "b"):\n    addNode(label=name)',
        '<thinking>x</thinking><invoke name="addNode"><parameter name="label">Prof',
        '<thinking>x</thinking><tool_call>{"name": "addNode", "arguments": {"label": "Pro',
        "<thinking>x</thinking><tool_call>what?</tool_call>",
        '<thinking>x</thinking>[{"name": "addNode", "input": {"label": "Pro',
        '<thinking>x</thinking>```json\n[{"name": "addNode", "input": {"label": "Pro',
        '<response>addNode(label="A"); os.system("x")[0]</response>',
        "<response>Please add a node.</response>",
        '<thinking>x</thinking>[{"name": "addNode", "arguments": "label Profile"}]',
        '<thinking>x</thinking>[{"name": "addNode", "input": {"label": 1e999}}]',
        "<thinking>x</thinking>| tool | label |\n|---|---|\n| addNode | Profile |",
        "<thinking>x</thinking>Action: addNode\nAction Input: a page called Profile",
        '<thinking>x</thinking>Tool: addNode\nParameters: {"label": "A"}\nTool: addNode\nParameters: {"label": "B',
        "<thinking>x</thinking>addNode --label A\naddNode --label",
        "<thinking>x</thinking>- addNode: {label: A}\n- what is this",
        '<thinking>x</thinking>{"plan": [{"name": "addNode", "input": {"label": "A"}}], "actions_taken": [{"name": "addNode", "input": {"label": "B"}}]}',
    ],
)
def test_what_may_mean_calls_and_cannot_be_read_is_an_error_and_never_no_calls(text: str) -> None:
    answer = parse_tagged(text, TOOLS)
    assert answer.error
    assert answer.calls == ()


@pytest.mark.parametrize(
    "text",
    [
        "<thinking>x</thinking>",
        "<thinking>x</thinking><response>[]</response>",
        "<response></response>",
        '{"tool_calls": []}',
    ],
)
def test_no_calls_are_no_error(text: str) -> None:
    answer = parse_tagged(text, TOOLS)
    assert (answer.calls, answer.error) == ((), None)


@pytest.mark.parametrize(
    "text",
    [
        f'<tool_call>{USUAL}</tool_call><tool_call>{{"name": "addN',
        '<invoke name="addNode"><parameter name="label">Profile</parameter><parameter name="parentNodeId">home</parameter></invoke><invoke name="addNode"><parameter name="label">He',
        f'<response>[{USUAL}, {{"name": "addNode", "inp',
    ],
)
def test_the_whole_calls_of_a_cut_answer_are_run_and_the_cut_is_told(text: str) -> None:
    answer = parse_tagged(text, TOOLS)
    assert calls(answer) == [PROFILE]
    assert answer.truncated


@pytest.mark.parametrize(
    "body",
    ["- tool: addNode\n  label: Profile\n  parentNodeId: ho", "addNode --label Prof", "Tool: addNode\nlabel: Profile"],
)
def test_a_cut_answer_in_a_notation_without_ends_is_not_run(body: str) -> None:
    assert parse_tagged(body, TOOLS).calls
    for text in (body, f"<response>{body}"):
        answer = parse_tagged(text, TOOLS, cut=True)
        assert answer.error
        assert answer.calls == ()


def test_no_cut_makes_another_call_of_it() -> None:
    for body in (*ANSWERS.values(), *ITEMS.values()):
        for end in range(5, min(len(body), 300), 13):
            answer = parse_tagged(f"<thinking>why</thinking>\n{body[:end]}", TOOLS, cut=True)
            assert [(call.name, dict(call.params)) for call in answer.calls] in ([], [PROFILE]), body[:end]


def test_what_is_said_of_the_past_is_not_run() -> None:
    said = json.dumps({"history": [{"name": "addNode", "input": {"label": "Old"}}], "done": True})
    assert parse_tagged(f"<thinking>x</thinking>{said}", TOOLS).calls == ()
    assert parse_tagged(f"<response>{said}</response>", TOOLS).error


def test_json_that_is_not_a_call_is_not_run() -> None:
    for text in (
        '<thinking>x</thinking>The state is {"nodes": [{"id": "a"}]}.',
        '<thinking>x</thinking>```json\n{"name": "Shop", "nodes": []}\n```',
    ):
        assert parse_tagged(text, TOOLS).error == "the answer has no <response>"


def test_a_native_call_gets_the_names_of_our_tools() -> None:
    use = ToolUse("c1", "functions.add_node", {"arguments": INPUT})
    assert normalized(use, KNOWN) == ToolUse("c1", *PROFILE)
    usual = ToolUse("c2", *PROFILE)
    assert normalized(usual, KNOWN) == usual


def test_labels_that_look_like_calls_stay_labels() -> None:
    for label in ("addNode(x)", "<tool_call>", "```json\n[]\n```", '{"label": "B", "x": 1}', "functions.addNode"):
        item = json.dumps({"name": "addNode", "input": {"label": label}})
        assert calls(parse_tagged(f"<response>[{item}]</response>", TOOLS)) == [("addNode", {"label": label})]
        assert calls(parse_tagged(f"[{item}]", TOOLS)) == [("addNode", {"label": label})]


@pytest.mark.slow
def test_hostile_answers_are_refused_in_time() -> None:
    for text in (
        "addNode(" * 20_000,
        "[" * 50_000 + "addNode(",
        "<tool_call>" * 20_000,
        '<invoke name="addNode">' * 20_000,
        "addNode(\n" * 30_000,
        "addNode({" * 5_000 + "\n" * 1_000,
        "```json\n[addNode(\n" * 5_000,
        "Action: addNode\nAction Input: {" * 5_000,
        "addNode(label: " * 10_000,
        "addNode --label " * 10_000,
        "<tool><name>" * 10_000 + "</tool>" * 10_000,
        "<a>" * 20_000 + "</b>" * 20_000,
        "- addNode: " * 10_000,
        "tool: " * 20_000 + "addNode(",
        "tool tool " * 20_000 + "\naddNode(",
        "addNode(x: 1) y" * 5_000,
    ):
        assert parse_tagged(text, TOOLS).error
