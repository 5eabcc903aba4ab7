//! Tables of words in definitions: they tell the nature of arguments, and what tools do.
//!
//! The tables contain all knowledge of such words; [`ArgumentNatures`](super::ArgumentNatures) and `derive` draw the
//! conclusions. Words are in lower case; in names an `s` at the end is left out.

use super::derive::NameManner;
use super::nature::ArgumentNature::{self, Code, Command, Host, HttpMethod, Path, Sql, Text, Url};

/// A list of words or phrases, separated by a comma and a space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words(&'static str);

impl Words {
    /// Returns the words in order.
    pub(super) fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split(", ")
    }

    /// Returns whether `word` is in the list.
    pub(super) fn has(self, word: &str) -> bool {
        self.iter().any(|known| known == word)
    }
}

/// A fact that a text states about an argument or a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LexiconSign {
    /// The text is about a file of the machine that the server runs on.
    Local,
    /// The text is about an object that a vendor or another machine keeps.
    Remote,
    /// The text is about a place within a document, an address or an interface.
    Selector,
    /// The argument narrows down results.
    Filter,
    /// The argument selects several files by their names.
    Glob,
    /// The tool writes to the argument's place.
    Written,
    /// The tool reads from the argument's place.
    Loaded,
    /// The tool visits the address.
    Reached,
    /// The text is about a database that speaks SQL.
    Sql,
    /// The text is about a query language of another kind.
    OtherQuery,
    /// The tool runs something.
    Runs,
    /// The text is about a programming language.
    Language,
    /// The text is about a code that is no program: of a country, of an error, for a login.
    PlainCode,
    /// The text is about a command line for a shell.
    CommandLine,
    /// The text is about a program that waits for input lines.
    Terminal,
    /// The tool changes nothing.
    ReadsOnly,
}

/// The natures that the last word of an argument's name suggests, each with the sign that has to confirm it, if any.
pub(super) const HEADS: &[(ArgumentNature, Option<LexiconSign>, Words)] = &[
    (
        Command,
        None,
        Words(
            "command, cmd, cmdline, commandline, command line, command arg, shell command, bash, powershell, \
         argv, shell script, bash script",
        ),
    ),
    (Command, Some(LexiconSign::CommandLine), Words("exec, shell, cli")),
    (Command, Some(LexiconSign::Terminal), Words("input, key, keystroke, line")),
    (
        Code,
        None,
        Words(
            "code, script, snippet, python, javascript, typescript, source code, sourcecode, code block, lua",
        ),
    ),
    (Code, Some(LexiconSign::Language), Words("function, expression, program, js, fn, source, body")),
    (Sql, None, Words("sql, sql query, sql statement")),
    (Sql, Some(LexiconSign::Sql), Words("query, querie, statement, q")),
    (Url, None, Words("url, uri, href, endpoint, webhook, callback, link, website, web page, webpage")),
    (Host, None, Words("host, hostname, fqdn, ip, ip address, host name, domain, domain name")),
    (
        Path,
        None,
        Words(
            "path, filepath, pathname, file, filename, file name, dir, dirname, directory, directorie, \
         directory name, folder, folder name, cwd, workdir, workspace",
        ),
    ),
    (HttpMethod, None, Words("method, http method")),
    (
        Text,
        None,
        Words(
            "text, message, content, body, description, title, comment, prompt, note, summary, reason, \
         subject, question, answer, instruction, query, search, caption, thought, observation, keyword, \
         topic, html, markdown, template, data",
        ),
    ),
];

/// The last words of names that are about something, not the thing itself: `path_filter`, `command_id`.
pub(super) const ABOUT: Words = Words(
    "id, type, kind, status, state, count, limit, size, format, mode, timeout, encoding, language, \
         version, hash, prefix, suffix, pattern, filter, regex, regexp, glob, extension, index, order, \
         depth, length, position, strategy, policy, schema, tag, label, option, flag, level, key, token, \
         secret, alia, scope, field, column, style, template, metadata, header, param, permission, \
         owner, ttl, interval, rate",
);

/// The first words of names of arguments that exclude or select something: `exclude_paths`, `includeDomains`.
pub(super) const SELECTING: Words =
    Words("exclude, excluded, include, included, ignore, ignored, filter, skip, match, blocked");

/// The words before `code` and `script` in names of programs.
pub(super) const CODE_QUALIFIERS: Words = Words(
    "source, python, py, js, javascript, ts, typescript, user, raw, test, the, full, r, lua, init, \
         setup, inline, custom, node, sql, vba, apple, shell, bash, new, playwright, post, pre, cell, \
         program, lambda, worker",
);

/// The words in names of addresses that are stored and shown, not visited.
pub(super) const SHOWN: Words =
    Words("icon, avatar, logo, thumbnail, cover, banner, homepage, profile, badge, favicon");

/// The words in names of arguments that say where a program runs.
pub(super) const PLACES: Words = Words("cwd, workdir, working, directory, dir, pwd, workspace, folder");

/// The words in names of path arguments that are read, whatever else the tool does.
pub(super) const READ_FROM: Words =
    Words("source, src, input, template, upload, attachment, image, content, script, config, from");

/// The words in names of path arguments that are written, whatever else the tool does.
pub(super) const WRITTEN_TO: Words =
    Words("output, out, outfile, outdir, destination, dest, dst, save, download, target, export");

/// The names of arguments which show that the objects of the tool are kept by a vendor or on another machine.
pub(super) const REMOTE_BESIDE: Words = Words(
    "owner, org, organization, bucket, pod, namespace, project id, drive id, site id, space id, \
         space key, workspace id, repo id, repository id, account id, team id, database id, \
         container id, server id, instance id, sandbox id, project key, repo slug, repository slug, \
         bucket name, vm id",
);

/// The words with which a description may begin before it says what an argument is.
pub(super) const FILLERS: Words = Words(
    "the, a, an, optional, required, absolute, relative, full, local, output, input, or, and, \
         target, source, destination, valid, exact, one, more, multiple, list, array, of, comma, \
         separated, raw, new, existing, complete, base, root, working, server, readable, single, \
         starting, start, specific, public, original, remote, image, video, audio, csv, json, pdf, \
         excel, filesystem, system, string, shell, terminal, bash, select",
);

/// The natures that the first telling word of a description gives an argument.
pub(super) const OPENINGS: &[(ArgumentNature, Words)] = &[
    (Path, Words("path, filepath, filename, directory, folder, file path, file name, file to")),
    (Url, Words("url, uri, website url, web page url, page url, http url")),
    (Host, Words("hostname, host name, ip address")),
    (Command, Words("command to, command line")),
    (Sql, Words("sql")),
    (Code, Words("javascript, python, typescript, code to, script to")),
];

/// The phrases by which a text states something; `*` stands for any ending.
pub(super) const SIGNS: &[(LexiconSign, Words)] = &[
    (
        LexiconSign::Local,
        Words(
            "absolute path, absolute paths, absolute or relative, absolute file path, local, filesystem, \
         file system, on disk, to disk, working directory, current directory, workspace root, \
         project root, home directory, full path, to upload, to attach, to save, for saving, saved to, \
         save the, save as, write to a file, working tree, your computer, on this machine, host machine, \
         user s machine, desktop app, git repository, path to the git, server readable, localhost",
        ),
    ),
    (
        LexiconSign::Remote,
        Words(
            "github, gitlab, bitbucket, gitea, gitee, azure devops, confluence, jira, atlassian, notion, \
         redis, kubernetes, k8s, s3, gcs, bucket, blob storage, dropbox, google drive, gdrive, onedrive, \
         sharepoint, box com, figma, slack, discord, airtable, hubspot, salesforce, pull request, \
         pull requests, merge request, vercel, netlify, cloudflare, firebase, supabase, stripe, zendesk, \
         linear, sentry, asana, trello, monday com, clickup, gmail, outlook, google docs, google sheets, \
         hugging face, huggingface, elasticsearch, opensearch, mongodb, grafana, datadog, consul, \
         hashicorp vault, in the repository, in the repo, repository path, within the repository, \
         relative to the repository, relative to the repo, in a repository, repository contents, \
         remote server, remote host, remote file*, remote path, remote machine, sftp, ftp, ssh, webdav, \
         in the container, inside the container, in the sandbox, cloud storage, in your account, \
         workspace id, shopify, wordpress, contentful, file being commented, pod",
        ),
    ),
    (
        LexiconSign::Selector,
        Words(
            "json path, jsonpath, json pointer, xpath, jq, dot notation, dotted path, dot separated, \
         property path, key path, field path, api path, endpoint path, url path, request path, route, \
         path parameter*, path of the api, api endpoint, rest path, path in the json, object path, \
         node path, folder uid, category path, breadcrumb, attribute path, secret path, path segment*, \
         http path, uri path, path of the url, path component",
        ),
    ),
    (
        LexiconSign::Filter,
        Words(
            "filter, filters, filter by, filter results, only return, only include, matching this, \
         whose url, whose path, to match against, restrict results, limit results, limit to",
        ),
    ),
    (
        LexiconSign::Glob,
        Words("glob, glob pattern*, glob file pattern, file pattern, file patterns, glob style"),
    ),
    (
        LexiconSign::Written,
        Words(
            "to save*, for saving, save the, save results, saved to, saved in, write to, to write, \
         written to, will be written, to store, stored in, to create, will be created, will be saved, \
         output file, output path, output directory, for the output, to export, export to, download to, \
         directory for, destination, to output",
        ),
    ),
    (
        LexiconSign::Loaded,
        Words(
            "load, loaded from, to load, to read, read from, to upload, to parse, from which, to import, \
         to attach, to send, to drop, to analyze, to convert, to open, to scan, to include, to embed, \
         to insert, to add as, containing the, to process, to transcribe, path to read, read the, \
         to index, to summarize, to share, source file, input file, build context, dockerfile",
        ),
    ),
    (
        LexiconSign::Reached,
        Words(
            "navigate*, fetch*, crawl*, scrap*, brows*, visit*, open, opens, load, loads, download*, \
         request to, requests to, http request*, screenshot*, webhook*, callback*, import from, goto, \
         go to, tab, extract*, web page*, webpage*, convert*, read, reads, ping, monitor*, proxy, clone, \
         retrieve*, from the internet, curl, transcribe*, analyze, lighthouse, audit, upload from, \
         parse, render",
        ),
    ),
    (
        LexiconSign::Sql,
        Words(
            "sql, postgres*, mysql, mariadb, sqlite, duckdb, bigquery, snowflake, redshift, clickhouse, \
         mssql, oracle, motherduck, databricks, trino, presto, athena, select",
        ),
    ),
    (
        LexiconSign::OtherQuery,
        Words(
            "cql, jql, promql, logql, kql, graphql, cypher, lucene, mongodb, soql, keyword*, search term*, \
         search query, natural language, full text, search string, search text, gql",
        ),
    ),
    (
        LexiconSign::Runs,
        Words(
            "run, runs, running, execut*, evaluat*, eval, exec, interpret*, invoke, invokes, repl, sandbox, \
         inject*, playwright, kernel, lambda, cloud function*, edge function*, worker, macro, workflow*, \
         automation*",
        ),
    ),
    (
        LexiconSign::Language,
        Words(
            "javascript, python, typescript, js, ruby, lua, vba, applescript, groovy, node js, code, \
         jupyter, r code, wasm, osascript, jxa, edge function, worker code",
        ),
    ),
    (
        LexiconSign::PlainCode,
        Words(
            "country code, currency code, language code, iso, authorization code, auth code, verification, \
         oauth, 2fa, mfa, otp, one time, postal, zip code, error code, status code, airport, iata, \
         promo*, coupon, discount, discount code, region code, product code, qr code, short code, \
         color code, stock code, invite code, name of, ticker, unique code, project code, station, \
         department, mermaid, diagram",
        ),
    ),
    (LexiconSign::CommandLine, Words("shell command*, command line*, command to*, commands to*")),
    (
        LexiconSign::Terminal,
        Words("terminal, process, shell, repl, tmux, tty, pty, console session, ssh session"),
    ),
    (
        LexiconSign::ReadsOnly,
        Words(
            "read only, readonly, select, select query, select queries, explain, explain plan, \
         without executing",
        ),
    ),
];

/// The manners of tools, by a word of the tool's name or at the start of its description.
pub(super) const MANNERS: &[(NameManner, Words)] = &[
    (
        NameManner::Reads,
        Words(
            "get, list, read, search, find, fetch, query, show, view, describe, count, check, lookup, \
         inspect, status, browse, look, peek, stat, tree, grep, summarize, explain, analyze, compare, \
         diff, validate, calculate, convert, translate, head, tail, download, resolve, info, help, ping, \
         retrieve, return, wait, scan, trace, audit, display, preview, watch, monitor, discover, detect, \
         identify, verify, estimate, suggest, recommend, examine, whoami, ls, cat, lint, parse, hover, \
         locate",
        ),
    ),
    (
        NameManner::Writes,
        Words(
            "write, create, add, update, set, put, post, edit, append, insert, upload, save, rename, move, \
         copy, modify, patch, send, publish, commit, merge, push, store, assign, enable, start, open, \
         close, click, fill, submit, import, restore, reply, comment, invite, register, make, replace, \
         apply, change, record, press, type, drag, handle, select, resize, emulate, navigate, format, \
         scale, upsert, transition, link, archive, mark, pin, label, tag, configure, schedule, draft, \
         fork, checkout, stage, attach, generate, capture, take, export, duplicate, sort, place, \
         complete, share, acknowledge, ack, resume, pause, toggle, switch, init, build",
        ),
    ),
    (
        NameManner::Destroys,
        Words(
            "delete, remove, drop, destroy, purge, wipe, erase, truncate, kill, terminate, execute, exec, \
         run, shell, eval, evaluate, reset, revoke, uninstall, shutdown, reboot, deploy, transfer, pay, \
         purchase, withdraw, overwrite, clear, flush, disable, stop, unlink, sudo, install, del, rm, \
         rmdir, trash, cancel, refund, charge, ban, block, suspend, format disk, rollback, migrate, \
         unpublish, rotate",
        ),
    ),
];

/// The objects that give power to somebody: changing them is dangerous.
pub(super) const POWERS: Words = Words(
    "permission, permissions, restriction, restrictions, role, roles, policy, policies, access, \
         admin, secret, secrets, credential, credentials, password, firewall, migration, pull_request, \
         collaborator, refund, payout, production, iam",
);

/// The verbs in names of tools that pass on the content of a file: the path in their arguments is read.
pub(super) const GIVING: Words =
    Words("upload, send, attach, publish, submit, share, drop, import, ingest, embed, index");

/// The verbs in names of tools that make a file of something else: the path in their arguments is written.
pub(super) const KEEPING: Words =
    Words("download, save, screenshot, snapshot, capture, record, backup, dump");

/// The verbs in names of tools that make another file of a file: the path with the plain name is read.
pub(super) const CONVERTING: Words = Words("export, convert, render, compress, resize, transcode, extract");

/// The verbs in names of tools that take a file away from its place: both paths are written.
pub(super) const MOVING: Words = Words("move, rename, mv");
