//! What Python code is refused and accepted.

use mgp_types::mgp::{CodeSafety, SafetyLevel};

use super::is_own_module;
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
            "import codecs", "# import socket", "x = 'import socket'", "'''\nimport pty\n'''",
            "from .code_page import x", "shutil = 1",
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
            "#!/usr/bin/env python\n# coding: rot13\nvzcbeg bf",
            "\n# coding: rot13\nvzcbeg bf",
        ],
    );
}

#[test]
fn harmless_reflection_is_accepted() {
    all_accepted(
        SafetyLevel::Strict,
        &[
            "# a\n# b\n# coding: rot13\nx = 1",
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

// covers: MGP-7.2-03
#[test]
fn modules_are_refused_by_what_is_taken_of_them() {
    all_refused(
        SafetyLevel::Standard,
        &[
            "import shutil",
            "import shutil as s\ns.rmtree(path)",
            "from shutil import which, rmtree",
            "from shutil import *",
            "import importlib\nimportlib.import_module(name)",
            "import importlib.util as u\nu.module_from_spec(spec)",
            "import winreg\nwinreg.SetValueEx(key, 'x', 0, 1, 'y')",
        ],
    );
    all_accepted(
        SafetyLevel::Strict,
        &[
            "import shutil\nif shutil.which('git'): pass",
            "from shutil import copyfileobj, get_terminal_size",
            "def save(a, b):\n    import shutil\n    shutil.copy2(a, b)",
            "import importlib.util\nHAS = importlib.util.find_spec('numpy') is not None",
            "from importlib.metadata import version",
        ],
    );
}

// covers: MGP-7.2-03
#[test]
fn parts_of_the_own_program_may_be_imported_unless_a_list_is_declared() {
    let code = "from utils.cache import Cache\nfrom papers_mcp.client import Client\nimport config";
    all_accepted(SafetyLevel::Strict, &[code]);
    let mut declared = CodeSafety::new(SafetyLevel::Strict).with_language("python");
    declared.allowed_imports = Some(["json".into()].into());
    assert!(scan(code, &CodePolicy::new(&declared)).is_err());
    all_refused(SafetyLevel::Strict, &["import unheard_of", "from utils import subprocess"]);
}

// covers: MGP-7.2-03
#[test]
fn files_that_the_code_names_itself_are_not_removed() {
    all_refused(
        SafetyLevel::Strict,
        &[
            "import os\nos.unlink('x')",
            "import os\nfor f in files: os.remove(f)",
            "def f():\n    import os\n    os.rename('a', 'b')",
            "import shutil\nshutil.move('a', 'b')",
        ],
    );
    all_accepted(
        SafetyLevel::Strict,
        &["import os\ndef drop(path):\n    try: os.unlink(path)\n    except OSError: pass"],
    );
}

// covers: MGP-7.2-03
#[test]
fn what_describes_code_is_read_and_what_it_does_is_not() {
    all_accepted(
        SafetyLevel::Strict,
        &[
            "n = func.__code__.co_argcount",
            "name = frame.f_code.co_name",
            "for t in type(obj).__mro__: pass",
            "getattr(x, '__class__', None)",
            "mod = sys.modules.get(cls.__module__)",
            "def f():\n    log(f'{locals()}')",
            "e.error.code",
        ],
    );
    all_refused(
        SafetyLevel::Strict,
        &[
            "f.__code__ = g.__code__",
            "f.__code__.co_consts",
            "frame.f_code",
            "type(1).__mro__",
            "type.mro(int)",
            "import sys\ndel sys.modules['os']",
            "''.__doc__",
            "().__dir__()",
            "print(locals())",
            "print(dir())",
            "type.__call__(type, 'X', (), {})",
            "__builtins__ = {}",
            "[*open(0)]",
            "print(open('flag.txt').read())",
        ],
    );
}

// covers: MGP-7.2-03
#[test]
fn protections_are_not_switched_off() {
    all_refused(
        SafetyLevel::Strict,
        &[
            "import requests\nrequests.get(url, verify=False)",
            "import httpx\nwith httpx.Client(verify=False) as c: pass",
            "from jinja2 import Environment as E\nE(autoescape=False)",
            "from lxml import etree\netree.XMLParser(resolve_entities=True)",
            "import flask\napp = flask.Flask('x')\napp.run(debug=True)",
            "import urllib.request\nurllib.request.urlopen('file:///bin/ls')",
            "from urllib import request\nrequest.urlretrieve(url, name)",
            "import http.client\nhttp.client.HTTPSConnection(host)",
            "import asyncio\nasyncio.open_connection(host, 80)",
            "import dbm\ndbm.open('x', 'c')",
            "import wave\nwave.open('x', 'wb')",
            "import atexit\natexit.register(print)",
            "import threading\nthreading.Timer(60, f).start()",
            "import signal\nsignal.signal(15, f)",
            "import netrc\nnetrc.netrc()",
            "import sqlite3\nsqlite3.connect('/tmp/x.db')",
            "import zipfile\nzipfile.ZipFile('/tmp/x.zip', 'w')",
            "import logging\nlogging.basicConfig(filename='/var/tmp/x')",
            "from pathlib import Path\n(Path.home() / '.zshrc').write_text('x')",
            "import os\nopen(os.path.expanduser('~/.profile'), 'a')",
            "import types\ntypes.FunctionType(code, {})()",
            "import sympy\nsympy.sympify(\"__import__('os')\")",
            "import ruamel.yaml as y\ny.load(x, Loader=y.UnsafeLoader)",
            "import pandas as pd\ndf.query('@pd.io.common.os.x()')",
        ],
    );
    all_accepted(
        SafetyLevel::Strict,
        &[
            "import requests\nrequests.get(url, verify=True)",
            "import sqlite3\nsqlite3.connect(':memory:')",
            "import zipfile\nzipfile.ZipFile('out.zip', 'w')",
            "import logging\nlogging.basicConfig(level=logging.INFO)",
            "import httpx\nhttpx.get('https://example.com')",
            "from urllib.parse import urlparse\nurlparse(url)",
            "import http\nprint(http.HTTPStatus.OK)",
            "df.query('x > @limit and y < 3')",
        ],
    );
}

// covers: MGP-7.2-03
#[test]
fn code_that_cannot_end_is_refused() {
    all_refused(
        SafetyLevel::Strict,
        &[
            "def f(): f()",
            "def f():\n    'doc'\n    return f()",
            "def f():\n    print(1)\n    f()",
            "import itertools\nlist(itertools.count())",
            "from itertools import repeat\nsum(repeat(1))",
            "exit()",
        ],
    );
    all_accepted(
        SafetyLevel::Strict,
        &[
            "def f(n):\n    if n: return f(n - 1)",
            "import itertools\nlist(itertools.repeat(0, 3))",
            "import sys\nif not key:\n    sys.exit(1)",
        ],
    );
}

#[test]
fn parts_of_the_own_program_are_known_by_their_names() {
    for module in [
        "utils", "src.tools.search", "config", "paper_mcp_server.client", "weathermcp",
        "document_server.tools",
    ] {
        assert!(is_own_module(module), "{module}");
    }
    for module in ["socketlib", "evil", "subprocess", "os", ""] {
        assert!(!is_own_module(module), "{module}");
    }
}
