#include "endpoint/url.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace fencepost::endpoint {
namespace {

constexpr std::uint16_t kMqttPort = 1883;
constexpr std::uint16_t kMqttsPort = 8883;
constexpr std::string_view kExpected =
    "expected embedded, inproc:, mqtt://[user[:password]@]host[:port] or mqtts://...";

std::optional<unsigned char> parse_hex_byte(std::string_view digits) {
  unsigned char byte = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
  if (digits.size() != 2 || code != std::errc{} || end != digits.data() + 2) return std::nullopt;
  return byte;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto byte = parse_hex_byte(text.substr(i + 1, 2));
    if (!byte) return std::nullopt;
    out += static_cast<char>(*byte);
    i += 2;
  }
  return out;
}

// What percent_decode() makes `text` of; only what RFC 3986 leaves alone everywhere stands as it
// is.
std::string percent_encode(std::string_view text) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte >> 4U], kDigits[byte & 0x0FU]};
  }
  return out;
}

// Cuts `text` at the first `separator`; the second half is empty when there is none.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool parse_credentials(std::string_view text, Url& url) {
  const auto [user, password] = cut(text, ':');
  const auto decoded_user = percent_decode(user);
  const auto decoded_password = percent_decode(password);
  if (!decoded_user || !decoded_password || decoded_user->empty()) return false;
  url.user = *decoded_user;
  url.password = *decoded_password;
  return true;
}

bool parse_host_and_port(std::string_view text, Url& url) {
  if (text.ends_with('/')) text.remove_suffix(1);
  if (text.find('/') != std::string_view::npos) return false;  // MQTT URLs have no path
  std::string_view port;
  if (text.starts_with('[')) {  // [::1]:1883
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return false;
    url.host = text.substr(1, close - 1);
    if (url.host.find(':') == std::string::npos) return false;  // brackets are for IPv6
    text.remove_prefix(close + 1);
    if (!text.empty() && text.front() != ':') return false;
    if (!text.empty()) port = text.substr(1);
    if (!text.empty() && port.empty()) return false;
  } else {
    const auto [host, rest] = cut(text, ':');
    url.host = host;
    port = rest;
    if (host.size() < text.size() && port.empty()) return false;
  }
  if (url.host.empty() || url.host.find_first_of("[]") != std::string::npos) return false;
  if (port.empty()) return true;
  const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  return code == std::errc{} && end == port.data() + port.size() && url.port != 0;
}

void parse_query(std::string_view text, Url& url) {
  while (!text.empty()) {
    const auto [item, rest] = cut(text, '&');
    const auto [name, value] = cut(item, '=');
    url.query[std::string(name)] = value;
    text = rest;
  }
}

// `?name=value&name=value`; nothing when there are no options.
std::string query_text(const std::map<std::string, std::string>& query) {
  std::string out;
  for (const auto& [name, value] : query) {
    out += out.empty() ? "?" : "&";
    out += name;
    out += "=" + value;
  }
  return out;
}

constexpr std::string_view kStars = "***";

bool is_port(std::string_view text) {
  if (text.ends_with('/')) text.remove_suffix(1);
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Where the part after `mqtt://` begins, or after what looks like an attempt at it.
std::size_t after_scheme(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !text.substr(colon + 1).starts_with('/')) return 0;
  return std::min(text.find_first_not_of('/', colon + 1), text.size());
}

// For messages, which end in logs: anything that could be a user name or a password is left out.
// Without an @ that is what stands where a port would, as when the host was forgotten; and options.
std::string without_credentials(std::string_view whole) {
  const std::size_t begin = after_scheme(whole);
  const std::size_t at = whole.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view scheme = whole.substr(0, begin <= at ? begin : 0);
    return std::string(scheme) + std::string(kStars) + std::string(whole.substr(at));
  }
  const std::size_t bracket = whole.find(']', begin);
  const std::size_t colon = whole.find(':', bracket == std::string_view::npos ? begin : bracket);
  if (colon == std::string_view::npos || is_port(whole.substr(colon + 1))) {
    return std::string(whole);
  }
  return std::string(whole.substr(0, colon + 1)) + std::string(kStars);
}

// The place of the password in a URL that parse_url() takes; nothing when it has none.
std::optional<std::string_view> password_in(std::string_view text) {
  const std::string_view main = cut(text, '?').first;
  const std::size_t begin = after_scheme(main);
  const std::size_t at = main.rfind('@');
  const std::size_t colon = main.find(':', begin);
  if (at == std::string_view::npos || colon > at || colon + 1 == at) return std::nullopt;
  return main.substr(colon + 1, at - colon - 1);
}

Result<Url, std::string> parse_network_url(std::string_view rest, Url url,
                                           const std::string& shown) {
  const std::size_t at = rest.rfind('@');
  if (at != std::string_view::npos) {
    if (!parse_credentials(rest.substr(0, at), url)) {
      return fail("the user name or password in \"" + shown + "\" is not legal; " +
                  std::string(kExpected));
    }
    rest = rest.substr(at + 1);
  }
  if (!parse_host_and_port(rest, url)) {
    if (parse_host_and_port(cut(rest, '/').first, url)) {
      return fail("nothing may follow host and port of an endpoint: did you mean " + url.display() +
                  "?");
    }
    return fail("the host or port in \"" + shown + "\" is not legal; " + std::string(kExpected) +
                ", with a port from 1 to 65535");
  }
  return url;
}

// "127.0.0.1:1883", "user@broker.example", "tcp://broker": what other tools call a broker.
std::optional<std::string> what_was_meant(std::string_view main, const std::string& shown) {
  const std::size_t scheme = main.find("://");
  const bool has_scheme = scheme != std::string_view::npos;
  const std::string_view host = has_scheme ? main.substr(scheme + 3) : main;
  const bool is_tls = main.starts_with("ssl://") || main.starts_with("tls://") ||
                      main.starts_with("https://") ||
                      host.ends_with(":" + std::to_string(kMqttsPort));
  const bool is_tcp = !has_scheme || main.starts_with("tcp://") || main.starts_with("http://");
  const bool is_host =
      (host.find_first_of(".:") != std::string_view::npos || has_scheme || host == "localhost") &&
      host.find(' ') == std::string_view::npos;
  const Url url{.scheme = is_tls ? Scheme::kMqtts : Scheme::kMqtt,
                .port = is_tls ? kMqttsPort : kMqttPort};
  if (!(is_tcp || is_tls) || !is_host || !parse_network_url(host, url, shown)) return std::nullopt;
  return without_credentials((is_tls ? "mqtts://" : "mqtt://") + std::string(host));
}

}  // namespace

std::string Url::display() const {
  switch (scheme) {
    case Scheme::kEmbedded:
      return "embedded" + query_text(query);
    case Scheme::kInProcess:
      return "inproc:" + query_text(query);
    case Scheme::kMqtt:
    case Scheme::kMqtts:
      break;
  }
  std::string out = scheme == Scheme::kMqtt ? "mqtt://" : "mqtts://";
  if (!user.empty()) out += percent_encode(user) + (password.empty() ? "@" : ":***@");
  const bool ipv6 = host.find(':') != std::string::npos;
  out += ipv6 ? "[" + host + "]" : host;
  return out + ":" + std::to_string(port);
}

Result<Url, std::string> parse_url(std::string_view text) {
  const std::string shown = without_credentials(text);
  const auto [main, query] = cut(text, '?');
  Url url;
  parse_query(query, url);
  if (main == "embedded" || main == "embedded:") return url;
  if (main == "inproc" || main == "inproc:") {
    url.scheme = Scheme::kInProcess;
    return url;
  }
  if (main.starts_with("mqtt://")) {
    url.scheme = Scheme::kMqtt;
    url.port = kMqttPort;
    return parse_network_url(main.substr(7), std::move(url), shown);
  }
  if (main.starts_with("mqtts://")) {
    url.scheme = Scheme::kMqtts;
    url.port = kMqttsPort;
    return parse_network_url(main.substr(8), std::move(url), shown);
  }
  if (main.starts_with("ws://") || main.starts_with("wss://")) {
    return fail("WebSocket endpoints (\"" + shown +
                "\") are not supported yet. Use mqtt:// or "
                "mqtts://");
  }
  if (main.ends_with(".yaml") || main.ends_with(".yml")) {
    return fail("\"" + shown + "\" is not an endpoint; did you mean --descriptor?");
  }
  if (const auto guess = what_was_meant(main, shown)) {
    return fail("\"" + shown + "\" is not an endpoint; did you mean " + *guess + "?");
  }
  std::string hint;
  for (const std::string_view own : {"embedded", "inproc:"}) {
    if (main.starts_with(own))
      hint = ", whose options are written " + std::string(own) + "?fault=S01";
  }
  return fail("\"" + shown + "\" is not an endpoint; " + std::string(kExpected) + hint);
}

std::string redacted(std::string_view text) {
  if (!parse_url(text)) return without_credentials(text);
  std::string out(text);
  if (const std::size_t query = text.find('?'); query != std::string_view::npos) {
    // Ours has one option, which is no secret; others have none, regardless of what somebody puts
    // there.
    if (text.substr(0, query).find("//") != std::string_view::npos) {
      out.replace(query + 1, std::string::npos, kStars);
    }
  }
  if (const auto password = password_in(text)) {
    out.replace(static_cast<std::size_t>(password->data() - text.data()), password->size(), kStars);
  }
  return out;
}

std::string without_password(std::string_view url) {
  std::string out(url);
  const auto password = parse_url(url) ? password_in(url) : std::nullopt;
  if (!password) return out;
  const auto at = static_cast<std::size_t>(password->data() - url.data());
  return out.erase(at - 1, password->size() + 1);  // with the colon before it
}

std::string with_password(std::string_view url, std::string_view password) {
  const auto parsed = parse_url(url);
  std::string out(url);
  if (!parsed || parsed->user.empty() || password_in(url)) return out;
  const std::size_t at = out.rfind('@', out.find('?'));
  std::string encoded = out[at - 1] == ':' ? "" : ":";
  for (const char c : password) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kDigits[byte >> 4U], kDigits[byte & 0xfU]};
  }
  return out.insert(at, encoded);
}

std::vector<std::string> passwords_in(std::string_view url) {
  const auto parsed = parse_url(url);
  const auto password = password_in(url);
  if (!parsed || !password) return {};
  std::vector<std::string> out = {std::string(*password)};
  if (parsed->password != out.front()) out.push_back(parsed->password);
  return out;
}

}  // namespace fencepost::endpoint
