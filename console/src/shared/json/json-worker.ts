import { Tree, type Ask } from "./json-lines";

let tree = new Tree(null);

/** First the value, then what is to be seen of it. */
onmessage = ({ data }: MessageEvent<{ value: unknown } | { ask: Ask }>) => {
  if ("value" in data) tree = new Tree(data.value);
  else postMessage(tree.part(data.ask));
};
