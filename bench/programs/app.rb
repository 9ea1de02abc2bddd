# SPDX-License-Identifier: Apache-2.0
# A Sinatra application: a template and JSON.
require "json"
require "sinatra/base"

class App < Sinatra::Base
  set :environment, :production
  get "/" do
    rows = (1..50).map { |i| { name: "item #{i}", price: i } }
    erb("<% rows.each do |r| %><tr><td><%= r[:name] %></td></tr><% end %>", locals: { rows: rows }) +
      JSON.parse(rows.to_json).to_json
  end
end
