import { Button, type ButtonProps } from "@mantine/core";
import type { ComponentPropsWithoutRef } from "react";
import { useSession } from "../../app/shell";

const NEEDS = "Needs the write scope";

/** What a control gets that changes something: for a key without the scope it is shown, does nothing and says why. */
export function useWrite(): { may: boolean; title: string | undefined } {
  const session = useSession();
  // Not known yet does not mean refused: the server decides.
  const may = session?.scopes.includes("write") ?? true;
  return { may, title: may ? undefined : NEEDS };
}

type Props = ButtonProps & Omit<ComponentPropsWithoutRef<"button">, keyof ButtonProps>;

/** The palette lists it as well, while it can be pressed. */
export function WriteButton({ disabled, title, ...rest }: Props) {
  const write = useWrite();
  return <Button {...rest} data-action disabled={disabled === true || !write.may} title={write.title ?? title} />;
}
