# SPDX-License-Identifier: Apache-2.0
"""A Flask application: a template that is compiled once, and JSON."""
import json

import flask

app = flask.Flask(__name__)
ROWS = "{% for r in rows %}<tr><td>{{ r.name }}</td><td>{{ r.price * 2 }}</td></tr>{% endfor %}"


@app.route("/")
def table():
    rows = [{"name": f"item {i}", "price": i} for i in range(50)]
    return flask.render_template_string(ROWS, rows=rows) + json.dumps(json.loads(json.dumps(rows)))
