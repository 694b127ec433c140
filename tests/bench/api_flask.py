"""A site's own alternative to batchjob_stats_server, for tests/bench/api.py: the newest 100
jobs of a user from the same store by Flask, without access rules, paging or names (users,
accounts and the like are numbers).  STORE is the file; served by gunicorn."""
import os
import sqlite3

from flask import Flask, jsonify, request

app = Flask(__name__)
db = sqlite3.connect("file:%s?mode=ro" % os.environ["STORE"], uri=True, check_same_thread=False)
db.row_factory = sqlite3.Row
names = [r[1] for r in db.execute("PRAGMA table_info(job)")]


@app.route("/jobs")
def jobs():
    fields = request.args.get("fields")
    wanted = [f for f in (fields.split(",") if fields else names) if f in names]
    rows = db.execute('SELECT "%s" FROM job WHERE user = '
                      "(SELECT id FROM user WHERE name = ?) ORDER BY at DESC LIMIT 100"
                      % '","'.join(wanted), (request.args["user"],))
    return jsonify(status="success", data=[dict(r) for r in rows])
