//! Names of the language and its runtimes that rules ask for.

/// Global names that run code or reach behind objects.
pub(super) const DANGEROUS_GLOBALS: &[&str] = &[
    "eval",
    "Function",
    "AsyncFunction",
    "GeneratorFunction",
    "AsyncGeneratorFunction",
    "execScript",
    "ShadowRealm",
    "importScripts",
    "WebAssembly",
    "Deno",
    "Bun",
    "__non_webpack_require__",
    "ActiveXObject",
    "WScript",
];

/// Members that lead from an object to what makes it, or to code, whatever the object is.
pub(super) const DANGEROUS_MEMBERS: &[&str] = &[
    "__proto__",
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "mainModule",
    "dlopen",
    "_load",
    "_linkedBinding",
    "getBuiltinModule",
    "prepareStackTrace",
    "runInThisContext",
    "runInNewContext",
    "runInContext",
    "compileFunction",
    "createRequire",
    "execSync",
    "spawnSync",
    "execFileSync",
    "execFile",
    "getFunction",
    "getThis",
    "_compile",
    "_extensions",
    "_resolveFilename",
    "SourceTextModule",
];

/// Members that plain code has no use for.
pub(super) const STRICT_MEMBERS: &[&str] = &[
    "callee",
    "caller",
    "species",
    "getOwnPropertySymbols",
    "getOwnPropertyDescriptor",
    "getOwnPropertyDescriptors",
    "setPrototypeOf",
    "showProxy",
    "captureStackTrace",
    "stackTraceLimit",
    "compileStreaming",
    "instantiateStreaming",
    "asyncDispose",
    "dispose",
    "fromAsync",
    "preventExtensions",
];

/// Constructors that are given with the language, whose prototypes belong to everyone.
pub(super) const BUILTIN_CLASSES: &[&str] = &[
    "Object",
    "Function",
    "Array",
    "String",
    "Number",
    "Boolean",
    "Symbol",
    "BigInt",
    "Date",
    "RegExp",
    "Promise",
    "Map",
    "Set",
    "WeakMap",
    "WeakSet",
    "WeakRef",
    "Error",
    "TypeError",
    "RangeError",
    "AggregateError",
    "Buffer",
    "ArrayBuffer",
    "Uint8Array",
    "DataView",
    "JSON",
    "Math",
    "Iterator",
    "Proxy",
    "Reflect",
    "EvalError",
    "SyntaxError",
    "URIError",
    "ReferenceError",
];

/// What of `process` says where code runs, or is its input and output.
pub(super) const PROCESS_MEMBERS: &[&str] = &[
    "env",
    "argv",
    "cwd",
    "exit",
    "exitCode",
    "on",
    "once",
    "off",
    "removeListener",
    "removeAllListeners",
    "stdout",
    "stderr",
    "stdin",
    "nextTick",
    "hrtime",
    "uptime",
    "memoryUsage",
    "cpuUsage",
    "platform",
    "arch",
    "version",
    "versions",
    "pid",
    "emitWarning",
    "browser",
    "release",
];

/// Global names that plain code has no use for.
pub(super) const STRICT_GLOBALS: &[&str] =
    &["Proxy", "Reflect", "Worker", "SharedWorker", "ServiceWorker", "SuppressedError"];

/// Names of the object that has all global names.
pub(super) const GLOBAL_OBJECTS: &[&str] =
    &["globalThis", "global", "window", "self", "root", "GLOBAL", "top", "parent", "frames"];
