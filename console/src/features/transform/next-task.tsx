import { Textarea } from "@mantine/core";
import { useState } from "react";
import { WriteButton } from "../../shared/editing/write-button";

/** A next task in words, or the answer to a question. */
export function NextTask({ label, button, onAsk }: { label: string; button: string; onAsk: (words: string) => void }) {
  const [words, setWords] = useState("");
  return (
    <form
      className="tight"
      onSubmit={(event) => {
        event.preventDefault();
        if (words.trim() === "") return;
        onAsk(words);
        setWords("");
      }}
    >
      <Textarea label={label} autosize minRows={2} value={words} onChange={(event) => setWords(event.currentTarget.value)} />
      <span>
        <WriteButton type="submit" variant="default" disabled={words.trim() === ""}>
          {button}
        </WriteButton>
      </span>
    </form>
  );
}
