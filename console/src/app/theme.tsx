import "./styles";
import { createTheme, defaultVariantColorsResolver, MantineProvider, type CSSVariablesResolver, type VariantColorsResolver } from "@mantine/core";
import { Toasts } from "../shared/page/toasts";
import { setNonce } from "get-nonce";
import type { ReactNode } from "react";

/** The nonce of this very page: every style that is made while it runs carries it. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
setNonce(nonce);

/** Buttons and the like by our tokens: filled is the one primary button, red warns, light and subtle are quiet. */
const variants: VariantColorsResolver = (input) => {
  const red = input.color === "red";
  if (input.variant === "filled") {
    const solid = red ? "var(--bad-solid)" : "var(--accent-solid)";
    return { background: solid, hover: red ? "var(--bad-solid)" : "var(--accent-hover)", color: "var(--on-accent)", border: "1px solid transparent" };
  }
  if (input.variant === "light") {
    return { background: "var(--raised)", hover: "var(--bg-subtle)", color: red ? "var(--bad)" : "var(--accent)", border: "1px solid var(--line-strong)" };
  }
  if (input.variant === "subtle") return { background: "transparent", hover: "var(--bg-muted)", color: red ? "var(--bad)" : "var(--text-2)", border: "1px solid transparent" };
  return defaultVariantColorsResolver(input);
};

const theme = createTheme({
  fontFamily: "var(--font)",
  fontFamilyMonospace: "var(--mono)",
  fontSizes: { xs: "12px", sm: "13px", md: "14px", lg: "16px", xl: "20px" },
  defaultRadius: 6,
  primaryColor: "blue",
  primaryShade: 8,
  respectReducedMotion: true,
  variantColorResolver: variants,
  headings: { fontWeight: "600", sizes: { h1: { fontSize: "18px" }, h2: { fontSize: "14px" }, h3: { fontSize: "13px" } } },
  components: {
    Button: { defaultProps: { size: "xs" } },
    TextInput: { defaultProps: { size: "xs" } },
    PasswordInput: { defaultProps: { size: "xs" } },
    Textarea: { defaultProps: { size: "xs" } },
    Select: { defaultProps: { size: "xs", checkIconPosition: "right", allowDeselect: false } },
    SegmentedControl: { defaultProps: { size: "xs", transitionDuration: 0 } },
    Tabs: { defaultProps: { keepMounted: false } },
    Tooltip: { defaultProps: { openDelay: 300 } },
    Menu: { defaultProps: { transitionProps: { duration: 0 }, position: "bottom-end" } },
    Modal: { defaultProps: { transitionProps: { duration: 0 }, centered: true, size: 480, closeButtonProps: { "aria-label": "Close" } } },
  },
});

const OURS = {
  "--mantine-color-body": "var(--bg)",
  "--mantine-color-text": "var(--text)",
  "--mantine-color-dimmed": "var(--text-3)",
  "--mantine-color-placeholder": "var(--text-3)",
  "--mantine-color-default": "var(--raised)",
  "--mantine-color-default-hover": "var(--bg-subtle)",
  "--mantine-color-default-color": "var(--text)",
  "--mantine-color-default-border": "var(--line-strong)",
  "--mantine-color-error": "var(--bad)",
  "--mantine-color-anchor": "var(--accent)",
  "--mantine-primary-color-filled": "var(--accent-solid)",
  "--mantine-primary-color-filled-hover": "var(--accent-hover)",
  "--mantine-color-blue-filled": "var(--accent-solid)",
};
const variables: CSSVariablesResolver = () => ({ variables: {}, light: OURS, dark: OURS });

export function Theme({ children }: { children: ReactNode }) {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" cssVariablesResolver={variables} getStyleNonce={() => nonce}>
      {children}
      <Toasts />
    </MantineProvider>
  );
}
