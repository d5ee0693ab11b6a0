/** What a key may do, in words. */
export const SCOPES: Readonly<Record<string, string>> = {
  read: "View jobs, files and flows",
  write: "Submit jobs, upload files, change flows",
  tenant_admin: "Create, rotate and revoke keys of its own tenant",
  admin: "Manage keys of all tenants, prompts, models, limits and server settings",
};
