# Open OnDemand: /etc/ood/config/apps/dashboard/initializers/batchjob.rb.  For the
# widgets beside it: what batchjob_stats_server knows about the jobs of the user,
# over its Unix socket, so that no password is needed (docs/ondemand.md).
require "erb"
require "etc"
require "json"
require "net/http"
require "socket"
require "timeout"

module Batchjob
  SOCKET = ENV.fetch("BATCHJOB_SOCKET", "/run/batchjob_stats_server/api.sock")
  PAGES = ENV.fetch("BATCHJOB_URL", "") # of the web pages, for links
  SECONDS = 2 # of a request; the dashboard waits for its widgets
  KEPT = 60   # seconds for which a response is shown again

  def self.user
    Etc.getpwuid(Process.euid).name
  end

  # The rows or object of a response; nil: it is not known now.
  def self.get(path)
    return request(path) unless defined?(Rails) && Rails.respond_to?(:cache)
    Rails.cache.fetch("batchjob:#{user}:#{path}", expires_in: KEPT, skip_nil: true) { request(path) }
  end

  def self.query(path, parameters)
    get("#{path}?#{URI.encode_www_form(parameters)}")
  end

  def self.request(path)
    Timeout.timeout(SECONDS) do
      UNIXSocket.open(SOCKET) do |s|
        io = Net::BufferedIO.new(s)
        get = Net::HTTP::Get.new(path, "Host" => "localhost", "Accept" => "application/json",
                                       "Accept-Encoding" => "identity", "Connection" => "close")
        get.exec(io, "1.1", path)
        response = Net::HTTPResponse.read_new(io)
        response.reading_body(io, true) { response.body }
        return nil unless response.is_a?(Net::HTTPSuccess)
        JSON.parse(response.body)["data"]
      end
    end
  rescue StandardError
    nil
  end

  # Text for HTML; Rails does not escape it again.
  def self.h(text)
    ERB::Util.html_escape(text.to_s)
  end

  # A number with three digits; what is not known is a dash.
  def self.number(value, unit = "")
    return "\u2013" if value.nil?
    return "#{value}#{unit}" if value.is_a?(Integer)
    digits = value.abs >= 100 ? 0 : value.abs >= 10 ? 1 : 2
    "#{format("%.#{digits}f", value)}#{unit}"
  end

  # The page of a job; nil: no address is set.
  def self.page(key)
    "#{PAGES.chomp("/")}/jobs/#{ERB::Util.url_encode(key)}" unless PAGES.empty?
  end
end
