import "./styles";
import { createTheme, MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { setNonce } from "get-nonce";
import type { ReactNode } from "react";

/** The nonce of this very page: every style that is made while it runs carries it. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
setNonce(nonce);

const theme = createTheme({
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
  fontSizes: { xs: "12px", sm: "13px", md: "14px", lg: "16px", xl: "20px" },
  defaultRadius: 4,
  primaryColor: "blue",
  primaryShade: 8,
  respectReducedMotion: true,
  headings: { fontWeight: "600", sizes: { h1: { fontSize: "18px" }, h2: { fontSize: "15px" }, h3: { fontSize: "13px" } } },
  components: {
    Button: { defaultProps: { size: "xs" } },
    TextInput: { defaultProps: { size: "xs" } },
    PasswordInput: { defaultProps: { size: "xs" } },
    Textarea: { defaultProps: { size: "xs" } },
    NumberInput: { defaultProps: { size: "xs" } },
    Select: { defaultProps: { size: "xs", checkIconPosition: "right", allowDeselect: false } },
    SegmentedControl: { defaultProps: { size: "xs" } },
    Checkbox: { defaultProps: { size: "sm" } },
    Tabs: { defaultProps: { keepMounted: false } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
    Modal: { defaultProps: { transitionProps: { duration: 0 }, centered: true, closeButtonProps: { "aria-label": "Close" } } },
  },
});

export function Theme({ children }: { children: ReactNode }) {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <Notifications position="bottom-right" limit={3} />
      {children}
    </MantineProvider>
  );
}
