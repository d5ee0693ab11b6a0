export interface GivenFile {
  id: string;
  name: string;
}

/** The uploaded files that an input names, each once: data sets and archives by `file_id`, files of a program or document by `id`. */
export function filesOf(input: unknown): GivenFile[] {
  const found = new Map<string, GivenFile>();
  const look = (value: unknown, isFile: boolean): void => {
    if (Array.isArray(value)) for (const each of value) look(each, isFile);
    else if (value !== null && typeof value === "object") {
      const { id, file_id: fileId, name, path } = value as Record<string, unknown>;
      const file = fileId ?? (isFile ? id : undefined);
      if (typeof file === "string") found.set(file, { id: file, name: String(name ?? path ?? "file") });
      for (const [key, each] of Object.entries(value)) look(each, key === "files");
    }
  };
  look(input, false);
  return [...found.values()];
}
