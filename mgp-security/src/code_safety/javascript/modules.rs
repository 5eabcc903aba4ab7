//! Which modules code may import.

/// Modules that start processes, run code, reach into the runtime or talk to the network below HTTP.
pub(in super::super) const BLOCKED_MODULES: &[&str] = &["\
    child_process cluster worker_threads vm vm2 isolated-vm inspector module repl v8 net dgram tls http2 dns \
    process async_hooks diagnostics_channel trace_events wasi perf_hooks fs fs-extra graceful-fs rimraf \
    shelljs execa cross-spawn node-pty ffi-napi ffi ref-napi koffi edge-js node-gyp bindings domain sys test \
    sea sqlite constants _http_agent _tls_wrap node-serialize serialize-javascript safe-eval static-eval \
    eval import-fresh proxyquire rewire require-from-string decache jsdom puppeteer playwright ssh2 \
    simple-git sudo-prompt pidusage zx bun:ffi bun deno"];

/// Modules that compute, read what they are given, or speak HTTP; a scope stands for all of its packages.
pub(in super::super) const ALLOWED_MODULES: &[&str] = &["\
    @ai-sdk @angular @anthropic-ai @apollo @aws-sdk @azure @babel @chakra-ui @clack @cloudflare @codemirror \
    @colors @dnd-kit @e2b @elastic @emotion @eslint @exa @faker-js @fastify @floating-ui @formatjs @google \
    @google-cloud @googleapis @graphql-tools @hapi @headlessui @heroicons @hono @huggingface @iarna \
    @inquirer @jest @js-joda @jsr @koa @langchain @lexical @lit @mapbox @mdx-js @microsoft @mistralai \
    @modelcontextprotocol @mozilla @mui @nestjs @noble @notionhq @nuxt @octokit @opentelemetry \
    @pinecone-database @popperjs @prisma @qdrant @radix-ui @react-native @reduxjs @remix-run @rollup @scure \
    @sentry @sinclair @sindresorhus @slack @smithy @standard-schema @std @storybook @stripe @supabase \
    @svelte @sveltejs @swc/helpers @tailwindcss @tanstack @testing-library @tiptap @total-typescript @trpc \
    @tsconfig @turf @types @typescript-eslint @ungap @upstash @vercel @vitejs @vitest @vscode @vue @vueuse \
    @zxing abort-controller accepts acorn agent-base ai ajv ajv-errors ajv-formats algoliasearch angular \
    ansi-colors ansi-escapes ansi-regex ansi-styles antd arg argparse asap assert assertion-error astro \
    async async-retry autoprefixer axios axios-retry balanced-match base-x base64-js bcryptjs bignumber.js \
    bl blob-util bluebird bn.js body-parser boom boxen brace-expansion browserslist btoa buffer bytes cac \
    cachedir camelcase camelcase-keys canvas-confetti caseless chai chai-as-promised chalk change-case \
    chart.js cheerio citty classnames cli-cursor cli-spinners cli-table3 cli-truncate clipboard cliui clone \
    clsx code-block-writer color color-convert color-name colorette colors combined-stream commander \
    common-tags component-emitter compressible compression concat-map confbox connect consola console \
    content-disposition content-type contentful convert-source-map cookie cookie-parser cookie-signature \
    core-js cors cosmiconfig credit-card-type cron cron-parser croner cross-fetch crypto css-select csstype \
    csv-parse csv-parser csv-stringify d3 d3-array d3-format d3-scale d3-shape d3-time dataloader date-fns \
    date-fns-tz dayjs debounce debug decimal.js dedent deep-equal deep-extend deep-is deepmerge defaults \
    defu delay delayed-stream depd dequal destr destroy detect-indent diff discord.js dlv docx \
    dom-serializer domhandler dompurify domutils dot-prop dotenv dotenv-expand drizzle-orm \
    ecdsa-sig-formatter echarts ee-first email-validator ember emittery emoji-regex encodeurl enquirer \
    entities env-var error-ex es-module-lexer es-toolkit es6-promise escape-html escape-string-regexp eslint \
    esprima estraverse esutils etag ethers event-target-shim eventemitter2 eventemitter3 events eventsource \
    eventsource-parser exceljs expect express express-rate-limit express-session express-validator extend \
    fast-check fast-deep-equal fast-diff fast-equals fast-glob fast-json-stable-stringify fast-levenshtein \
    fast-uri fast-xml-parser fastify fastify-plugin fastmcp fastq feed feedparser fetch-blob fetch-retry \
    figures file-type filenamify filesize fill-range finalhandler firebase flat flatted follow-redirects \
    form-data formdata-node formidable forwarded framer-motion fresh function-bind fuse.js fuzzysort gaxios \
    get-port get-stream gitlab glob globals globby google-auth-library googleapis got gpt-tokenizer graphlib \
    graphql graphql-request graphql-tag gray-matter h3 has-flag hast-util-to-html he headers-polyfill helmet \
    highlight.js history hono hot-shots html-entities html-escaper html-to-text htmlparser2 http http-errors \
    http-proxy-agent http-status-codes https https-proxy-agent human-id hyperid i18next iconv-lite idb \
    ieee754 ignore image-size immer immutable indent-string inflected inherits ink inquirer invariant \
    ioredis ip-address ipaddr.js is-glob is-number is-plain-obj is-stream isarray isbinaryfile iso-639-1 \
    isomorphic-fetch isomorphic-ws itty-router jest jest-mock jira-client joi jose jotai jquery js-base64 \
    js-cookie js-tiktoken js-tokens js-yaml jsdoc json-schema json-schema-to-ts json-schema-to-zod \
    json-schema-traverse json-stable-stringify json-stringify-safe json2csv json5 jsonc-parser jsonfile \
    jsonld jsonpath-plus jsonschema jsonwebtoken jszip jwa jwks-rsa jws jwt-decode katex keyv kleur knex ky \
    kysely langchain leaflet leven libphonenumber-js linkify-it linkifyjs lit lodash lodash-es \
    lodash.debounce lodash.get lodash.merge log-symbols log4js loglevel long loose-envify lowdb lru-cache \
    lucide lucide-react luxon magic-string make-error mammoth map-obj mapbox-gl markdown-it markdown-table \
    marked match-sorter mathjs matter md5 mdast-util-from-markdown mdast-util-to-string media-typer \
    memoize-one memory-cache meow merge-descriptors merge2 mermaid method-override methods micromatch mime \
    mime-db mime-types mimic-fn minimatch minimist minipass mitt mobx mobx-react moment moment-timezone \
    mongodb mongoose morgan mri ms multer mustache mysql2 nanoid nanostores natural negotiator neo4j-driver \
    neverthrow next next-auth next-intl next-themes nock node-cache node-cron node-fetch node-fetch-native \
    node-html-parser node-mocks-http nodemailer nopt normalize-path normalize-url notion-to-md nprogress \
    nuxt oauth oauth4webapi object-assign object-hash object-inspect ofetch ohash ollama on-finished once \
    open-graph-scraper openai openapi-fetch openapi-types openid-client ora os otplib outvariant p-defer \
    p-event p-limit p-map p-queue p-retry p-throttle p-timeout pako papaparse parse-json parse-link-header \
    parse5 parseurl passport path path-key path-parse path-to-regexp pathe pdf-lib pdf-parse pdfjs-dist \
    pdfkit pend pg pg-promise picocolors picomatch pify pinia pino pino-http pino-pretty pkce-challenge \
    pluralize polished postcss posthog-js posthog-node preact prettier pretty-bytes pretty-format pretty-ms \
    process-warning progress prom-client promise-retry prompts prop-types proper-lockfile proxy-addr \
    proxy-from-env psl pump punycode qrcode qs query-string querystring queue-microtask quick-lru radash \
    radix3 ramda randombytes range-parser rate-limiter-flexible raw-body react react-dom react-dropzone \
    react-hook-form react-hot-toast react-i18next react-icons react-is react-markdown react-native \
    react-query react-redux react-router react-router-dom react-select react-table react-use read-pkg \
    readable-stream readline recharts recoil redis redux redux-saga redux-thunk reflect-metadata rehype-raw \
    remark remark-gfm remark-parse remeda request request-promise reselect resend response-time retry rfdc \
    robots-parser router rss-parser rxjs safe-buffer safe-stable-stringify safer-buffer sanitize-filename \
    sanitize-html sax scheduler semver send seq-queue serve-static set-cookie-parser setprototypeof sharp \
    shiki shopify-api-node side-channel simple-statistics sinon sirv slash slice-ansi slugify snakecase-keys \
    socket.io socket.io-client solid-js sonic-boom sonner sort-keys source-map source-map-js split2 \
    sprintf-js sqlstring sse-z ssim.js stack-utils statuses std-env storybook stream streamsearch \
    string-similarity string-width string_decoder strip-ansi strip-bom strip-indent strip-json-comments \
    stripe styled-components subscriptions-transport-ws superagent superjson supertest supports-color svelte \
    svg.js swagger-ui-express swr tailwind-merge tailwindcss tape telegraf terminal-link text-table \
    thread-stream three throttle-debounce tiktoken timers tiny-emitter tiny-invariant tinyglobby title-case \
    tldts to-regex-range toidentifier toml totalist tough-cookie tr46 triple-beam ts-dedent ts-essentials \
    ts-invariant ts-jest ts-pattern tslib tsup turndown tweetnacl twilio type-fest type-is typebox typeorm \
    typescript-eslint ufo ulid underscore undici unfetch unified unique-string unist-util-visit \
    universal-user-agent unpipe uri-js url url-join url-parse url-template use-debounce \
    use-sync-external-store utf8 util util-deprecate utils-merge uuid uvu valibot validator vary vfile viem \
    vite vite-plugin-dts vitepress vitest vue vue-i18n vue-router vuex wagmi walk-up-path warning weather-js \
    web-streams-polyfill web-vitals webidl-conversions whatwg-fetch whatwg-url widest-line winston \
    winston-daily-rotate-file wouter wrap-ansi wrappy wretch ws xlsx xml xml-js xml2js xmlbuilder \
    xmlbuilder2 xmldom xss xstate xtend y18n yallist yaml yargs yargs-parser yn yocto-queue \
    youtube-transcript yup zen-observable zlib zod zod-to-json-schema zod-validation-error zustand"];
