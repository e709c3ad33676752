// A receiver that knows signatures by the published library alone: server.mjs PORT_FILE SECRET. 204: verified; 400: not.
import { renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const [portFile, secret] = process.argv.slice(2);
const webhook = new Webhook(secret);

const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    try {
      webhook.verify(Buffer.concat(parts).toString("utf8"), request.headers);
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(400).end(String(error.message));
    }
  });
});
server.listen(0, "127.0.0.1", () => {
  writeFileSync(portFile + ".new", String(server.address().port));
  renameSync(portFile + ".new", portFile);
});
