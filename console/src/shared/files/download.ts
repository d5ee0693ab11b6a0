export function download(content: string | Blob, name: string): void {
  const url = URL.createObjectURL(typeof content === "string" ? new Blob([content]) : content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
