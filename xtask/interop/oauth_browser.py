"""A person's browser that consents to everything: it goes where pages lead, with cookies. As a program it goes to the end:
oauth_browser.py URL"""

import sys
import urllib.request
from http.cookiejar import CookieJar


class Stopping(urllib.request.HTTPRedirectHandler):
    def __init__(self, stop):
        self.stop = stop

    def redirect_request(self, request, file, code, message, headers, url):
        if self.stop and url.startswith(self.stop):
            raise Arrived(url)
        return super().redirect_request(request, file, code, message, headers, url)


class Arrived(Exception):
    pass


def follow(url, stop=None):
    """Follows a page to its end, or to an address that begins with `stop`, which is returned and not asked."""
    cookies = urllib.request.HTTPCookieProcessor(CookieJar())
    direct = urllib.request.ProxyHandler({})
    try:
        with urllib.request.build_opener(direct, cookies, Stopping(stop)).open(url, timeout=30) as answer:
            return answer.url
    except Arrived as arrived:
        return arrived.args[0]


if __name__ == "__main__":
    follow(sys.argv[1])
