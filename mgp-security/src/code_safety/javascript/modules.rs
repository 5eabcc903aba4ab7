//! Which modules code may import.

/// Modules that start processes, run code, reach into the runtime or talk to the network below HTTP.
pub(in super::super) const BLOCKED_MODULES: &str = "\
    child_process cluster worker_threads vm vm2 isolated-vm inspector module repl v8 net dgram tls http2 dns \
    process async_hooks diagnostics_channel trace_events wasi perf_hooks fs fs-extra graceful-fs rimraf \
    shelljs execa cross-spawn node-pty ffi-napi ffi ref-napi koffi edge-js node-gyp bindings domain sys test \
    sea sqlite constants _http_agent _tls_wrap node-serialize serialize-javascript safe-eval static-eval \
    eval import-fresh proxyquire rewire require-from-string decache jsdom puppeteer playwright ssh2 \
    simple-git sudo-prompt pidusage zx bun:ffi bun deno";

/// Modules that compute, read what they are given, or speak HTTP.
pub(in super::super) const ALLOWED_MODULES: &str = "\
    assert buffer crypto events http https os path punycode querystring readline stream string_decoder \
    timers url util zlib @modelcontextprotocol/sdk @anthropic-ai/sdk @types @octokit/rest ajv ajv-formats \
    axios body-parser chai chalk cheerio classnames clsx commander cors d3 date-fns dayjs debug dotenv \
    express fastify fastmcp form-data graphql got hono immer immutable jest joi jquery js-yaml jsonwebtoken \
    ky lodash lodash-es lucide-react luxon marked mathjs mime mime-types minimatch mobx moment nanoid next \
    node-fetch openai p-limit p-retry papaparse pino preact prop-types qs ramda react react-dom \
    react-router-dom redux reselect rxjs semver slugify superagent svelte swr tslib turndown undici uuid \
    validator vite vitest vue winston ws xml2js yaml yargs yup zod zod-to-json-schema zustand \
    fast-xml-parser";
