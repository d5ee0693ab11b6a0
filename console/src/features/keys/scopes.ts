/** What a key may do, in words. */
export const SCOPES: Readonly<Record<string, string>> = {
  read: "look at jobs, files and flows",
  write: "submit jobs, upload, change flows",
  tenant_admin: "make, rotate and revoke keys of its own tenant",
  admin: "keys of every tenant, prompts, models, limits, what the server is",
};
