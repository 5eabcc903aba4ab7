//! Modules of the standard library that compute, read what they are given, or speak HTTP.

pub(super) const STANDARD: &str = "\
    __future__ _abc _ast _asyncio _bisect _blake2 _bz2 _codecs _collections _collections_abc _compat_pickle \
    _compression _contextvars _csv _datetime _decimal _elementtree _functools _hashlib _heapq _json _locale \
    _lzma _markupbase _md5 _multibytecodec _opcode _operator _py_abc _pydatetime _pydecimal _queue _random \
    _sha1 _sha2 _sha3 _sqlite3 _sre _stat _statistics _string _strptime _struct _threading_local _tokenize \
    _typing _uuid _warnings _weakref _weakrefset _zoneinfo abc aifc annotationlib argparse array ast asyncio \
    atexit audioop base64 binascii binhex bisect bz2 calendar cgi chunk cmath codecs collections colorsys \
    compression concurrent configparser contextlib contextvars copy copyreg csv curses dataclasses datetime \
    dbm decimal difflib dis email encodings enum errno filecmp fnmatch fractions functools genericpath \
    getopt getpass gettext glob graphlib gzip hashlib heapq hmac html http imghdr importlib importlib.metadata \
    importlib.resources inspect io ipaddress itertools json keyword locale logging lzma mailbox math \
    mimetypes netrc ntpath nturl2path numbers operator optparse os pathlib pickletools platform plistlib \
    posixpath pprint pyclbr pyexpat queue quopri random re reprlib sched secrets select selectors shlex \
    shutil signal sndhdr sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string \
    string.templatelib stringprep struct sunau symtable sys sysconfig tabnanny tarfile tempfile textwrap \
    threading time token tokenize tomllib traceback types typing unicodedata unittest urllib uu uuid \
    warnings wave weakref winreg _winreg _thread grp pwd readline pstats xdrlib xml zipfile zlib zoneinfo";
