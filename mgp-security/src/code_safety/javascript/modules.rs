//! Which modules code may import, and which names of the language are dangerous.

/// Modules that start processes, run code, reach into the runtime or talk to the network below HTTP.
pub(in super::super) const BLOCKED_MODULES: &[&str] = &[
    "child_process", "cluster", "worker_threads", "vm", "vm2", "isolated-vm", "inspector", "module", "repl", "v8", "net", "dgram",
    "tls", "http2", "dns", "process", "async_hooks", "diagnostics_channel", "trace_events", "wasi", "perf_hooks", "fs", "fs-extra",
    "graceful-fs", "rimraf", "shelljs", "execa", "cross-spawn", "node-pty", "ffi-napi", "ffi", "ref-napi", "koffi", "edge-js",
    "node-gyp", "bindings", "domain", "sys", "test", "sea", "sqlite", "constants", "_http_agent", "_tls_wrap", "node-serialize",
    "serialize-javascript", "safe-eval", "static-eval", "eval", "import-fresh", "proxyquire", "rewire", "require-from-string",
    "decache", "jsdom", "puppeteer", "playwright", "ssh2", "simple-git", "sudo-prompt", "pidusage", "zx", "bun:ffi", "bun", "deno",
];

/// Modules that compute, read what they are given, or speak HTTP.
pub(in super::super) const ALLOWED_MODULES: &[&str] = &[
    "assert", "buffer", "crypto", "events", "http", "https", "os", "path", "punycode", "querystring", "readline", "stream",
    "string_decoder", "timers", "url", "util", "zlib", "@modelcontextprotocol/sdk", "@anthropic-ai/sdk", "@types", "@octokit/rest",
    "ajv", "ajv-formats", "axios", "body-parser", "chai", "chalk", "cheerio", "classnames", "clsx", "commander", "cors", "d3",
    "date-fns", "dayjs", "debug", "dotenv", "express", "fastify", "fastmcp", "form-data", "graphql", "got", "hono", "immer",
    "immutable", "jest", "joi", "jquery", "js-yaml", "jsonwebtoken", "ky", "lodash", "lodash-es", "lucide-react", "luxon", "marked",
    "mathjs", "mime", "mime-types", "minimatch", "mobx", "moment", "nanoid", "next", "node-fetch", "openai", "p-limit", "p-retry",
    "papaparse", "pino", "preact", "prop-types", "qs", "ramda", "react", "react-dom", "react-router-dom", "redux", "reselect",
    "rxjs", "semver", "slugify", "superagent", "svelte", "swr", "tslib", "turndown", "undici", "uuid", "validator", "vite", "vitest",
    "vue", "winston", "ws", "xml2js", "yaml", "yargs", "yup", "zod", "zod-to-json-schema", "zustand", "fast-xml-parser",
];

/// Global names that run code or reach behind objects.
pub(super) const DANGEROUS_GLOBALS: &[&str] = &[
    "eval", "Function", "AsyncFunction", "GeneratorFunction", "AsyncGeneratorFunction", "execScript", "ShadowRealm", "importScripts",
    "WebAssembly", "Deno", "Bun", "__non_webpack_require__", "ActiveXObject", "WScript",
];

/// Global names that plain code has no use for.
pub(super) const STRICT_GLOBALS: &[&str] = &["Proxy", "Reflect", "Worker", "SharedWorker", "ServiceWorker", "SuppressedError"];

/// Names of the object that has all global names.
pub(super) const GLOBAL_OBJECTS: &[&str] = &["globalThis", "global", "window", "self", "root", "GLOBAL", "top", "parent", "frames"];

/// Members that lead from an object to what makes it, or to code, whatever the object is.
pub(super) const DANGEROUS_MEMBERS: &[&str] = &[
    "__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "mainModule", "dlopen", "_load",
    "_linkedBinding", "getBuiltinModule", "prepareStackTrace", "runInThisContext", "runInNewContext", "runInContext",
    "compileFunction", "createRequire", "execSync", "spawnSync", "execFileSync", "execFile", "getFunction", "getThis", "_compile",
    "_extensions", "_resolveFilename", "SourceTextModule",
];

/// Members that plain code has no use for.
pub(super) const STRICT_MEMBERS: &[&str] = &[
    "callee", "caller", "species", "getOwnPropertySymbols", "getOwnPropertyDescriptor", "getOwnPropertyDescriptors", "setPrototypeOf",
    "showProxy", "captureStackTrace", "stackTraceLimit", "compileStreaming", "instantiateStreaming", "asyncDispose", "dispose",
    "fromAsync", "preventExtensions",
];

/// Constructors that are given with the language, whose prototypes belong to everyone.
pub(super) const BUILTIN_CLASSES: &[&str] = &[
    "Object", "Function", "Array", "String", "Number", "Boolean", "Symbol", "BigInt", "Date", "RegExp", "Promise", "Map", "Set",
    "WeakMap", "WeakSet", "WeakRef", "Error", "TypeError", "RangeError", "AggregateError", "Buffer", "ArrayBuffer", "Uint8Array",
    "DataView", "JSON", "Math", "Iterator", "Proxy", "Reflect", "EvalError", "SyntaxError", "URIError", "ReferenceError",
];

/// What of `process` says where code runs, or is its input and output.
pub(super) const PROCESS_MEMBERS: &[&str] = &[
    "env", "argv", "cwd", "exit", "exitCode", "on", "once", "off", "removeListener", "removeAllListeners", "stdout", "stderr", "stdin",
    "nextTick", "hrtime", "uptime", "memoryUsage", "cpuUsage", "platform", "arch", "version", "versions", "pid", "emitWarning",
    "browser", "release",
];
