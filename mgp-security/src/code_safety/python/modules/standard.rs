//! The standard library, by what a module can do for whoever imports it. Only what computes, reads what it is given, or
//! offers the names that rules judge one by one is allowed without a declaration.

/// Modules that compute, read what they are given, or whose dangerous names are judged by themselves.
pub(super) const COMPUTES: &str = "\
    __future__ _abc _ast _asyncio _bisect _blake2 _bz2 _codecs _collections _collections_abc _compat_pickle \
    _compression _contextvars _csv _datetime _decimal _elementtree _functools _hashlib _heapq _json _locale \
    _lzma _markupbase _md5 _multibytecodec _opcode _operator _py_abc _pydatetime _pydecimal _queue _random \
    _sha1 _sha2 _sha3 _sqlite3 _sre _stat _statistics _string _strptime _struct _threading_local _tokenize \
    _typing _uuid _warnings _weakref _weakrefset _zoneinfo abc annotationlib argparse array ast asyncio \
    audioop base64 binascii binhex bisect bz2 calendar cgi chunk cmath codecs collections colorsys \
    compression concurrent configparser contextlib contextvars copy copyreg csv dataclasses datetime \
    decimal difflib dis email encodings enum errno filecmp fnmatch fractions functools genericpath \
    getopt gettext glob graphlib gzip hashlib heapq hmac html http imghdr importlib importlib.metadata \
    importlib.resources inspect io ipaddress itertools json keyword locale logging lzma math mimetypes \
    ntpath nturl2path numbers operator optparse os pathlib pickletools platform plistlib posixpath pprint \
    pyclbr pyexpat queue quopri random re reprlib secrets select selectors shlex shutil signal sndhdr \
    sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string string.templatelib stringprep \
    struct symtable sys sysconfig tabnanny tarfile tempfile textwrap threading time token tokenize tomllib \
    traceback types typing unicodedata unittest urllib uu uuid warnings weakref winreg _winreg _thread grp \
    pwd pstats xdrlib xml zipfile zlib zoneinfo";

/// Modules that start processes or run code.
pub(super) const RUNS: &str = "\
    subprocess pty code codeop runpy pkgutil zipimport zipapp multiprocessing concurrent.futures.process \
    _posixsubprocess commands popen2 pdb bdb trace profile cProfile timeit doctest idlelib distutils setuptools \
    pip ensurepip venv site sitecustomize usercustomize cgitb pydoc pipes rlcompleter cmd lib2to3 modulefinder \
    compileall py_compile antigravity webbrowser test turtle turtledemo asyncio.subprocess asyncio.unix_events \
    asyncio.base_subprocess logging.config this __phello__";

/// Modules that reach into the interpreter, load foreign code, or make objects of bytes.
pub(super) const REACHES: &str = "\
    ctypes _ctypes pickle _pickle cPickle marshal shelve builtins __builtin__ __main__ importlib \
    _frozen_importlib _frozen_importlib_external imp _imp posix nt _winapi _thread gc faulthandler tracemalloc \
    msvcrt winreg mmap fcntl termios tty resource _osx_support _io ossaudiodev opcode _xxsubinterpreters \
    _interpreters interpreters shutil";

/// Modules that talk to other machines; HTTP by clients that do nothing else is allowed.
pub(super) const CONNECTS: &str = "\
    socket socketserver telnetlib ftplib smtplib poplib imaplib nntplib smtpd asyncore asynchat xmlrpc \
    urllib.request urllib.robotparser urllib2 httplib http.client http.server http.cookiejar wsgiref \
    logging.handlers asyncio.streams asyncio.sslproto syslog";

/// Modules that write files of their own by a path, past `open`.
pub(super) const WRITES: &str = "\
    dbm gdbm anydbm dumbdbm wave aifc sunau mailbox fileinput readline bsddb whichdb";

/// Modules that run something later, when nobody looks any more.
pub(super) const DEFERS: &str = "atexit sched";

/// Modules that read accounts and passwords, or take the terminal.
pub(super) const SPIES: &str = "\
    crypt spwd pwd grp nis netrc getpass curses linecache msilib";
