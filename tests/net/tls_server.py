"""An HTTPS server for one test: tls_server.py CERT KEY PORT_FILE LOG [newest TLS version]. Each request's body is a line of LOG."""

import http.server
import os
import ssl
import sys

cert, key, port_file, log = sys.argv[1:5]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(log, "ab") as file:
            file.write(body + b"\n")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # A client that breaks off the handshake is what most of these tests want.


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
if len(sys.argv) > 5:
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = ssl.TLSVersion[sys.argv[5]]
server = Server(("127.0.0.1", 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(port_file + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(port_file + ".new", port_file)
server.serve_forever()
