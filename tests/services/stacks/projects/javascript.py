"""JavaScript and TypeScript: frameworks, managers, runtimes."""

from __future__ import annotations

from tests.services.stacks.projects.case import Case, deps, npm

TS = {"tsconfig.json": "{}", "src/index.ts": "export const answer: number = 42\n"}
JS = {"index.js": "console.log(1)\n"}

_BY_DEPENDENCY = {
    "nextjs": "next", "nuxt": "nuxt", "remix": "@remix-run/node", "react-router": "@react-router/dev",
    "sveltekit": "@sveltejs/kit", "astro": "astro", "gatsby": "gatsby", "solidstart": "@solidjs/start",
    "qwik": "@builder.io/qwik", "tanstack-start": "@tanstack/react-start", "redwood": "@redwoodjs/core",
    "angular": "@angular/core", "vue": "vue", "cra": "react-scripts", "svelte": "svelte", "preact": "preact",
    "ember": "ember-source", "vite": "vite", "parcel": "parcel", "ionic": "@ionic/react", "expo": "expo",
    "electron": "electron", "docusaurus": "@docusaurus/core", "vitepress": "vitepress", "eleventy": "@11ty/eleventy",
    "hexo": "hexo", "hydrogen": "@shopify/hydrogen", "express": "express", "fastify": "fastify", "koa": "koa",
    "hono": "hono", "elysia": "elysia", "hapi": "@hapi/hapi", "adonis": "@adonisjs/core",
    "feathers": "@feathersjs/feathers", "sails": "sails", "loopback": "@loopback/core", "strapi": "@strapi/strapi",
    "nitro": "nitropack", "nestjs": "@nestjs/core", "react": "react",
}  # fmt: skip

FRAMEWORKS = [
    Case(f"a package that depends on {package} uses {id}", {"package.json": npm(dependencies=deps(package)), **JS},
         language="javascript", framework=id, runtime="node", build="npm", manager="npm")
    for id, package in _BY_DEPENDENCY.items()
]  # fmt: skip

RANKS = [
    Case("next stands over react", {"package.json": npm(dependencies=deps("react", "react-dom", "next")), **TS},
         language="typescript", framework="nextjs", candidates=(("framework", "react"),)),
    Case("nest stands over express", {"package.json": npm(dependencies=deps("express", "@nestjs/core")), **TS},
         framework="nestjs", candidates=(("framework", "express"),)),
    Case("nest stands over fastify", {"package.json": npm(dependencies=deps("fastify", "@nestjs/core")), **TS}, framework="nestjs"),
    Case("nuxt stands over vue and nitro", {"package.json": npm(devDependencies=deps("nitropack", "vue", "nuxt")), **TS}, framework="nuxt"),
    Case("sveltekit stands over svelte and vite", {"package.json": npm(devDependencies=deps("vite", "svelte", "@sveltejs/kit")), **JS},
         framework="sveltekit"),
    Case("react stands over vite", {"package.json": npm(dependencies=deps("react"), devDependencies=deps("vite")), **TS},
         framework="react", candidates=(("framework", "vite"),)),
    Case("astro stands over react", {"package.json": npm(dependencies=deps("astro", "react")), **JS}, framework="astro"),
    Case("express stands over react", {"package.json": npm(dependencies=deps("express", "react")), **JS}, framework="express"),
    Case("remix stands over express", {"package.json": npm(dependencies=deps("express", "@remix-run/express")), **JS}, framework="remix"),
    Case("ionic stands over angular", {"package.json": npm(dependencies=deps("@angular/core", "@ionic/angular")), **TS}, framework="ionic"),
    Case("electron stands over react", {"package.json": npm(dependencies=deps("react"), devDependencies=deps("electron")), **JS},
         framework="electron"),
    Case("strapi stands over koa", {"package.json": npm(dependencies=deps("koa", "@strapi/strapi", "react")), **JS}, framework="strapi"),
    Case("a framework that is only tested with is none",
         {"package.json": npm(main="index.js", devDependencies=deps("express", "mocha")), **JS},
         framework=None, role="library", candidates=(("framework", "express"),)),
    Case("names that only look alike are none",
         {"package.json": npm(dependencies=deps("express-rate-limit", "next-auth", "koa-router", "react-icons", "fastify-plugin")), **JS},
         framework=None),
    Case("next.config alone hints at next", {"package.json": npm(), "next.config.mjs": "export default {}\n", **JS}, framework="nextjs"),
]  # fmt: skip

MANAGERS = [
    Case("npm is the default without any evidence", {"package.json": npm(), **JS}, build="npm", manager="npm"),
    Case("a package-lock is npm's", {"package.json": npm(), "package-lock.json": "{}", **JS}, build="npm",
         commands=("npm ci",)),
    Case("a yarn.lock is yarn's", {"package.json": npm(), "yarn.lock": "# yarn lockfile v1\n", **JS}, build="yarn",
         commands=("yarn install --frozen-lockfile",)),
    Case("yarn berry is told by its lockfile", {"package.json": npm(), "yarn.lock": "__metadata:\n  version: 8\n", **JS},
         build="yarn", commands=("yarn install --immutable",)),
    Case("yarn berry's version stands in yarnPath",
         {"package.json": npm(), ".yarnrc.yml": "yarnPath: .yarn/releases/yarn-4.1.0.cjs\n", "yarn.lock": "__metadata:\n", **JS}, build="yarn"),
    Case("a pnpm-lock is pnpm's", {"package.json": npm(), "pnpm-lock.yaml": "lockfileVersion: '9.0'\n", **JS},
         build="pnpm", manager="pnpm", commands=("pnpm install --frozen-lockfile",)),
    Case("a text bun.lock is bun's", {"package.json": npm(), "bun.lock": '{"lockfileVersion": 1,}\n', **JS},
         build="bun", manager="bun", runtime="bun"),
    Case("a binary bun.lockb is bun's", {"package.json": npm(), "bun.lockb": b"#!/usr/bin/env bun\n\0\1", **JS}, build="bun"),
    Case("packageManager beats the lockfile",
         {"package.json": npm(packageManager="pnpm@9.1.0"), "package-lock.json": "{}", **JS}, build="pnpm", versions={"pnpm": "9.1.0"}),
    Case("packageManager's hash is no version",
         {"package.json": npm(packageManager="yarn@4.1.0+sha224.fd21d9eb"), **JS}, build="yarn", versions={"yarn": "4.1.0"}),
    Case("devEngines names the manager", {"package.json": npm(devEngines={"packageManager": {"name": "pnpm", "version": "^9"}}), **JS}, build="pnpm"),
    Case("engines names the manager", {"package.json": npm(engines={"pnpm": ">=8"}), **JS}, build="pnpm"),
    Case("a ban in engines is no claim", {"package.json": npm(engines={"npm": "please-use-pnpm", "pnpm": ">=8"}), **JS}, build="pnpm"),
    Case("bun beats the other lockfiles", {"package.json": npm(), "bun.lock": "{}", "yarn.lock": "", "package-lock.json": "{}", **JS}, build="bun"),
    Case("npm loses to any other lockfile", {"package.json": npm(), "yarn.lock": "# v1\n", "package-lock.json": "{}", **JS}, build="yarn"),
    Case("a member takes the root's lockfile",
         {"package.json": npm(workspaces=["apps/*"]), "pnpm-lock.yaml": "x: 1\n", "apps/web/package.json": npm(name="web"), "apps/web/index.js": "1\n"},
         at="apps/web", build="pnpm", manager="pnpm"),
    Case("a member takes the root's packageManager",
         {"package.json": npm(packageManager="yarn@4.0.0", workspaces=["apps/*"]), "apps/web/package.json": npm(name="web"), "apps/web/index.js": "1\n"},
         at="apps/web", build="yarn"),
    Case("an own lockfile beats the root's",
         {"package.json": npm(), "yarn.lock": "# v1\n", "tools/package.json": npm(name="t"), "tools/package-lock.json": "{}", "tools/index.js": "1\n"},
         at="tools", build="npm"),
    Case("a Dockerfile's command hints at the manager", {"package.json": npm(), "Dockerfile": "FROM node:20\nRUN pnpm install\n", **JS}, build="pnpm"),
    Case("package.json5 is a manifest", {"package.json5": "// hi\n{name: 'five', dependencies: {koa: '^2',},}\n", **JS}, framework="koa"),
    Case("pnpm's package.yaml is a manifest", {"package.yaml": "name: y\ndependencies:\n  koa: ^2.0.0\n", **JS}, framework="koa", language="javascript"),
    Case("a manifest with a byte order mark is read", {"package.json": b"\xef\xbb\xbf" + b'{"dependencies": {"koa": "2"}}', **JS}, framework="koa"),
]  # fmt: skip

LANGUAGES = [
    Case("typescript needs its own sources", {"package.json": npm(devDependencies=deps("typescript")), **JS}, language="javascript"),
    Case("a tsconfig with sources is typescript", {"package.json": npm(), **TS}, language="typescript"),
    Case("a typescript dependency with sources is typescript", {"package.json": npm(devDependencies=deps("typescript")), "a.ts": "let a: 1\n"}, language="typescript"),
    Case("the root's tsconfig holds for members",
         {"package.json": npm(workspaces=["p/*"]), "tsconfig.json": "{}", "p/a/package.json": npm(name="a"), "p/a/x.ts": "let a: 1\n"},
         at="p/a", language="typescript"),
    Case("stray Python does not make a Node app Python",
         {"package.json": npm(dependencies=deps("express")), "server.js": "require('express')\n", "main.py": "print(1)\n" * 50},
         language="javascript", framework="express", build="npm"),
    Case("an elm application", {"elm.json": {"type": "application", "elm-version": "0.19.1", "dependencies": {"direct": {}}}, "src/Main.elm": "module Main exposing (main)\n"},
         language="elm", build="elm", versions={"elm": "0.19.1"}),
]  # fmt: skip

DENO = [
    Case("deno.json makes a deno package", {"deno.json": {"tasks": {"start": "deno run main.ts"}}, "main.ts": "Deno.serve(() => new Response())\n"},
         language="typescript", build="deno", runtime="deno", manager="deno", command="deno task start"),
    Case("deno.jsonc may hold comments", {"deno.jsonc": '{\n  // tasks\n  "imports": {"hono": "npm:hono@^4.1.0",},\n}\n', "main.ts": "1\n"},
         build="deno", framework="hono"),
    Case("fresh by its jsr package", {"deno.json": {"imports": {"fresh": "jsr:@fresh/core@^2.0.0"}}, "main.ts": "1\n"}, framework="fresh", runtime="deno"),
    Case("fresh by its deno.land module",
         {"deno.json": {"imports": {"$fresh/": "https://deno.land/x/fresh@1.6.8/", "preact": "https://esm.sh/preact@10.19.6"}}, "main.ts": "1\n", "fresh.gen.ts": "1\n"},
         framework="fresh", candidates=(("framework", "preact"),)),
    Case("oak by jsr", {"deno.json": {"imports": {"@oak/oak": "jsr:@oak/oak@^17"}}, "main.ts": "1\n"}, framework="oak"),
    Case("edge functions do not turn a pnpm repository into deno",
         {"package.json": npm(dependencies=deps("next")), "pnpm-lock.yaml": "x: 1\n", "app/page.js": "1\n",
          "supabase/functions/deno.json": {"imports": {}}, "supabase/functions/hello/index.ts": "Deno.serve()\n"},
         build="pnpm", runtime="node", framework="nextjs", paths=("", "supabase/functions")),
    Case("bun runs what bun installs", {"package.json": npm(dependencies=deps("elysia")), "bun.lock": "{}", **TS}, runtime="bun", framework="elysia"),
    Case("bun may install what node runs", {"package.json": npm(engines={"node": ">=20"}), "bun.lock": "{}", **JS}, runtime="node", build="bun"),
]  # fmt: skip

RUNS = [
    Case("the start script is the command", {"package.json": npm(scripts={"start": "node server.js", "build": "tsc"}, dependencies=deps("express")), "server.js": "1\n"},
         command="npm start", commands=("npm install", "npm run build"), role="app"),
    Case("a port in the start script", {"package.json": npm(scripts={"start": "next start -p 4000"}, dependencies=deps("next")), **JS}, ports=(4000,)),
    Case("a port in the code", {"package.json": npm(dependencies=deps("express")), "index.js": "app.listen(process.env.PORT || 8081)\n"},
         ports=(8081,), env=("PORT",), command="node index.js"),
    Case("next's usual port", {"package.json": npm(dependencies=deps("next")), **JS}, ports=(3000,)),
    Case("pnpm's start", {"package.json": npm(scripts={"start": "node ."}), "pnpm-lock.yaml": "a: 1\n", **JS}, command="pnpm start"),
    Case("a Procfile beats the start script",
         {"package.json": npm(scripts={"start": "node a.js"}), "Procfile": "web: node cluster.js\nworker: node w.js\n", **JS}, command="node cluster.js", role="app"),
    Case("a Dockerfile's port, command and health",
         {"package.json": npm(), "Dockerfile": "FROM node:20.11-alpine\nEXPOSE 8088/tcp\nENV LOG_LEVEL=info\nHEALTHCHECK CMD curl -f http://localhost:8088/healthz\nCMD [\"node\", \"dist/main.js\"]\n", **JS},
         ports=(8088,), command="node dist/main.js", health="/healthz", versions={"node": "20.11"}, env=("LOG_LEVEL",), role="app"),
    Case("compose tells ports, variables and health",
         {"package.json": npm(), **JS,
          "docker-compose.yml": "services:\n  web:\n    build: .\n    ports: ['8000:3001']\n    environment: {DB_URL: x}\n    healthcheck:\n      test: curl http://localhost:3001/ready\n"},
         ports=(3001,), env=("DB_URL",), health="/ready"),
    Case("a health route in the code", {"package.json": npm(dependencies=deps("fastify")), "server.js": "f.get('/healthz', () => 'ok')\nf.listen({ port: 3333 })\n"},
         health="/healthz", ports=(3333,)),
    Case("names of variables but no values", {"package.json": npm(), ".env.example": "API_KEY=sk-secret\nVITE_URL=http://x\n", **JS}, env=("API_KEY",)),
    Case("a library is not started", {"package.json": npm(main="dist/index.js", types="dist/index.d.ts", scripts={"build": "tsc"}), **TS}, role="library", command=""),
    Case("a command line tool is an app", {"package.json": npm(bin={"x": "cli.js"}), "cli.js": "#!/usr/bin/env node\n"}, role="app"),
]  # fmt: skip

CASES = [*FRAMEWORKS, *RANKS, *MANAGERS, *LANGUAGES, *DENO, *RUNS]
