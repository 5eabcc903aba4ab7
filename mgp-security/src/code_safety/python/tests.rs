//! What Python code is refused and accepted.

use mgp_types::mgp::{CodeSafety, SafetyLevel};

use crate::code_safety::{CodePolicy, scan};

fn refused(level: SafetyLevel, code: &str) -> bool {
    scan(code, &CodePolicy::new(&CodeSafety::new(level).with_language("python"))).is_err()
}

fn all_refused(level: SafetyLevel, codes: &[&str]) {
    for code in codes {
        assert!(refused(level, code), "accepted: {code}");
    }
}

fn all_accepted(level: SafetyLevel, codes: &[&str]) {
    for code in codes {
        let policy = CodePolicy::new(&CodeSafety::new(level).with_language("python"));
        assert_eq!(scan(code, &policy).map_err(|rejection| rejection.to_string()).err(), None, "{code}");
    }
}

// covers: MGP-7.2-02
#[test]
fn imports_are_found_in_every_spelling() {
    all_refused(
        SafetyLevel::Standard,
        &[
            "import  subprocess",
            "import os, subprocess as s\ns.run(['id'])",
            "from subprocess import run",
            "from subprocess import (\n    run,\n)",
            "if True:\n    import \\\n        socket",
            "import xml, ctypes.util",
            "from asyncio import subprocess",
            "from http import server",
            "from . import subprocess",
            "__import__('json')",
            "import importlib\nimportlib.import_module('json')",
            "from importlib import import_module as m\nm('json')",
            "import sys\nsys.modules['subprocess']",
            "import sys as s\nx = s.modules\nx['os'].system('id')",
            "from os import *",
        ],
    );
}

#[test]
fn longer_names_comments_and_texts_are_no_imports() {
    all_accepted(
        SafetyLevel::Standard,
        &[
            "import codecs",
            "# import socket",
            "x = 'import socket'",
            "'''\nimport pty\n'''",
            "from .code_page import x",
            "shutil = 1",
        ],
    );
}

// covers: MGP-7.2-02
#[test]
fn calls_are_found_under_any_name() {
    all_refused(
        SafetyLevel::Standard,
        &[
            "eval ('1')",
            "eval(\n'1')",
            "e = eval\ne('1')",
            "(lambda f: f('1'))(eval)",
            "map(eval, ['1'])",
            "[f('1') for f in (eval,)]",
            "ｅｖａｌ('1')",
            "def f(eval=eval): return eval('1')",
            "if 0:\n    eval = 1\neval('1')",
            "def eval(x): pass\ndel eval\neval('1')",
            "[eval for eval in [1]]\neval('1')",
            "@exec\n@input\nclass X: pass",
            "class A:\n    __getitem__ = exec",
            "exec 'x = 1'",
            "from os import system",
            "import os\nf = os.system\nf('id')",
            "import os as o\n(o if x else y).popen('id')",
            "import os\nos.path.os.system('id')",
            "import typing\ntyping.sys.modules",
            "import os\nvars(os)['sys' + 'tem']('id')",
            "import os\nos.__dict__.get('system')('id')",
            "import os\ngetattr(os, 'sys' + 'tem')('id')",
            "from builtins import eval as x",
            "import asyncio\nasyncio.create_subprocess_shell('id')",
            "import yaml\nyaml.load(x, Loader=yaml.Loader)",
            "print.__self__.eval('1')",
        ],
    );
}

#[test]
fn own_names_are_not_taken_for_builtins() {
    all_accepted(
        SafetyLevel::Strict,
        &[
            "class T:\n    def eval(self): return 1\nT().eval()",
            "def f(compile): return compile(1)",
            "def help(x):\n    return x\nhelp(1)",
            "import ast\nast.literal_eval('1')",
            "import re\nre.compile('x')",
            "import platform\nplatform.system()",
            "import yaml\nyaml.load(x, Loader=yaml.SafeLoader)",
            "model.eval()",
        ],
    );
}

#[test]
fn ways_into_the_interpreter_are_refused() {
    all_refused(
        SafetyLevel::Strict,
        &[
            "().__class__.__base__.__subclasses__()",
            "''.__class__.__mro__[1]",
            "f.__globals__['x']",
            "g = (x.gi_frame for _ in (1,))",
            "e.__traceback__.tb_frame.f_back",
            "'{0.__class__.__init__}'.format(x)",
            "'{x[__globals__]}'.format(x=1)",
            "getattr(x, '__cl' 'ass__')",
            "getattr(f, '__slabolg__'[::-1])",
            "a = '__glo'\nb = 'bals__'\ngetattr(f, a + b)",
            "getattr(f, ''.join(map(chr, [95, 95, 99, 111, 100, 101, 95, 95])))",
            "getattr(f, '\\N{LOW LINE}_globals__')",
            "getattr((), name)",
            "import os\ngetattr(os, name)",
            "import functools\nfunctools.reduce(getattr, ['a'], ())",
            "import operator\noperator.attrgetter('__class__.__base__')(x)",
            "match x:\n    case object(__class__=c): pass",
            "f\"{().__class__}\"",
            "globals()['__builtins__']",
            "globals()[name]",
            "int.mro()[1]",
            "type('X', (), {})",
            "import random\nrandom._os",
            "@print\n@input\nclass X: pass",
            "getattr(x, input())",
            "import string\nstring.Formatter().get_field('0.__class__', [x], {})",
            "'a'.ljust(10 ** 12)",
            "print.__self__",
            "x = '\\x5f\\x5fglobals\\x5f\\x5f'",
            "# coding: rot13\nvzcbeg bf",
        ],
    );
}

#[test]
fn harmless_reflection_is_accepted() {
    all_accepted(
        SafetyLevel::Strict,
        &[
            "self.__class__.__name__",
            "type(self).__name__",
            "return self.__class__(*args)",
            "if other.__class__ is self.__class__: pass",
            "f'{type(x).__name__}: {x.__class__.__qualname__}'",
            "for c in cls.__mro__:\n    c.__dict__.get('x')",
            "getattr(self, name, None)",
            "getattr(self, 'visit_' + node)",
            "import os\nhasattr(os, 'fork')",
            "super().__init__(**kwargs)",
            "object.__setattr__(self, 'x', 1)",
            "'%(x)s' % locals()",
            "''.join(chr(c) for c in codes)",
            "def __reduce__(self): return self.__class__, (self.x,)",
        ],
    );
}

// covers: MGP-7.2-03
#[test]
fn the_surroundings_are_used_and_not_given_away() {
    all_refused(
        SafetyLevel::Strict,
        &[
            "import os\nprint(dict(os.environ))",
            "import os\nos.environ['LD_PRELOAD'] = 'x'",
            "import os\nos.remove('x')",
            "import os\nos.open('/etc/hosts', 0)",
            "open('/proc/self/environ')",
            "import os\nos.chmod('x', 0o777)",
            "import httpx\nhttpx.get('http://169.254.169.254/')",
            "import zipfile\nzipfile.ZipFile('x').extractall()",
            "while True: pass",
            "[0] * 10 ** 11",
            "9 ** 9 ** 9",
        ],
    );
    all_accepted(
        SafetyLevel::Strict,
        &[
            "import os\nos.environ.get('X')\nos.environ['Y']\nos.getenv('Z')",
            "import os\nos.path.join('/usr', 'x')",
            "import os\nos.makedirs('out', exist_ok=True)",
            "open(path).read()",
            "import httpx\nhttpx.get('https://example.com')",
            "while True:\n    line = f.readline()\n    if not line: break",
            "x = 2 ** 64",
            "from .models import Item",
            "from importlib.metadata import version",
        ],
    );
}

// covers: MGP-7.2-04
#[test]
fn readonly_refuses_every_way_to_write() {
    let writes = [
        "open(p, 'w')",
        "open(p, mode=m)",
        "p.open('a')",
        "import pathlib\npathlib.Path('x').unlink()",
        "from pathlib import Path\nPath('x').rename('y')",
        "import os\nos.makedirs('x')",
        "import requests\nrequests.post('https://example.com')",
        "import httpx\nhttpx.request('PUT', 'https://example.com')",
        "client.delete(url)",
        "cursor.execute('INSERT INTO t VALUES (1)')",
        "cursor.execute(statement)",
        "cursor.execute('SELECT 1; DROP TABLE t')",
        "df.to_csv('x')",
        "f.write('x')",
        "import tempfile\ntempfile.mkdtemp()",
    ];
    all_refused(SafetyLevel::Readonly, &writes);
    all_accepted(SafetyLevel::Strict, &writes);
}

// covers: MGP-7.2-04
#[test]
fn readonly_accepts_reading() {
    all_accepted(
        SafetyLevel::Readonly,
        &[
            "open(p)",
            "open(p, 'rb').read()",
            "import requests\nrequests.get('https://example.com').json()",
            "cursor.execute('SELECT * FROM t')",
            "'a'.replace('a', 'b')",
            "import sys\nsys.stdout.write('x')",
            "import io\nb = io.StringIO()\nb.write('x')",
            "print('x')",
        ],
    );
}
