import { toast } from "./toasts";

export function copy(text: string): void {
  // Where the page came by HTTP from another machine there is no clipboard at all.
  const write = async (): Promise<void> => navigator.clipboard.writeText(text);
  void write().then(
    () => toast({ message: "Copied" }),
    () => toast({ color: "red", message: "The browser does not let this page copy" }),
  );
}
