import Atto
import AttoATT
import AttoFormats
import AttoText
import Glibc

/// The forms of values in a configuration.
extension ProfileField {
  /// 1 to 64 letters, digits, `-` and `_`: what topics and paths can carry.
  var name: String {
    get throws(ProfileError) {
      let expected = "a name of 1 to 64 letters, digits, \"-\" and \"_\""
      let text = try string(expected)
      guard 1...64 ~= text.utf8.count, text.utf8.allSatisfy(Self.isNameOctet) else {
        throw mistake(expected)
      }
      return text
    }
  }

  /// A password: 16 to 128 characters of ASCII without spaces. Errors do not show it.
  var token: String {
    get throws(ProfileError) {
      let expected = "16 to 128 characters of ASCII without spaces"
      let text = try string(expected)
      guard 16...128 ~= text.utf8.count, text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
        throw ProfileError(path, expected: expected, found: "another text")
      }
      return text
    }
  }

  static func isNameOctet(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x2D, 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
    default: false
    }
  }

  func seconds(_ range: ClosedRange<Int>) throws(ProfileError) -> Duration {
    .seconds(try integer(range, unit: " of seconds"))
  }

  var company: UInt16 {
    get throws(ProfileError) { try number("a company identifier such as \"0x0059\"") }
  }

  /// An absolute path without NUL.
  var filePath: String {
    get throws(ProfileError) {
      let expected = "an absolute path"
      let text = try string(expected)
      guard text.hasPrefix("/"), !text.utf8.contains(0), text.utf8.count < 4096 else {
        throw mistake(expected)
      }
      return text
    }
  }
}

extension ProfileField {
  /// An existing folder.
  var folder: String {
    get throws(ProfileError) {
      let path = try filePath
      var status = stat()
      guard stat(path, &status) == 0 else {
        throw ProfileError(self.path, expected: "a folder", found: found(errno))
      }
      guard status.st_mode & S_IFMT == S_IFDIR else {
        throw ProfileError(self.path, expected: "a folder", found: "a file")
      }
      return path
    }
  }

  /// A regular file that this process may read.
  var readableFile: String {
    get throws(ProfileError) {
      let path = try filePath
      var status = stat()
      guard access(path, R_OK) == 0, stat(path, &status) == 0 else {
        // The user of a service is rarely the one who wrote the file.
        let reason = errno
        let expected =
          reason == EACCES ? "a file that user \(geteuid()) can read" : "a readable file"
        throw ProfileError(self.path, expected: expected, found: found(reason))
      }
      guard status.st_mode & S_IFMT == S_IFREG else {
        throw ProfileError(self.path, expected: "a readable file", found: "not a regular file")
      }
      return path
    }
  }

  private func found(_ number: Int32) -> String {
    // SAFETY: as in FileBytes: the text is copied at once.
    strerror(number).map { String(cString: $0) } ?? "error \(number)"
  }

  /// The first line of a file.
  func firstLine() throws(ProfileError) -> String {
    let file = try readableFile
    let bytes: [UInt8]
    do throws(ProfileError) {
      bytes = try Self.bytes(ofFile: file, waits: false)
    } catch {
      throw ProfileError(path, expected: "a readable file", found: error.found)
    }
    let line = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    return String(decoding: line, as: UTF8.self)
  }

  /// The key of a text, which messages do not show.
  func key(_ text: String) throws(ProfileError) -> [UInt8] {
    let expected = "32 octets in base64, which are 44 characters"
    guard let octets = Base64.decode(text.utf8) else {
      throw ProfileError(path, expected: expected, found: "no base64")
    }
    guard octets.count == 32 else {
      throw ProfileError(path, expected: expected, found: "\(octets.count) octets")
    }
    return octets
  }

  /// `HOST:PORT`, `[IPv6]:PORT` or `unix:PATH`.
  var listeningPlace: ListeningPlace {
    get throws(ProfileError) {
      let expected =
        "an address and a port such as \"127.0.0.1:6053\" or \"[::1]:6053\", or \"unix:/path\""
      let text = try string(expected)
      if text.hasPrefix("unix:/"), text.utf8.count < 5 + 108, !text.utf8.contains(0) {
        return .unix(path: String(text.dropFirst(5)))
      }
      guard let (host, port) = Self.hostAndPort(text), port > 0, Self.isNumeric(host) else {
        throw mistake(expected)
      }
      return .internet(host: host, port: port)
    }
  }

  /// Splits at the last colon; brackets around an IPv6 address are removed, and required.
  static func hostAndPort(_ text: String) -> (host: String, port: UInt16)? {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    return host.isEmpty ? nil : (String(host), port)
  }

  private static func isNumeric(_ host: String) -> Bool {
    var address = in6_addr()
    return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
  }
}

extension ProfileField {
  /// The ID of a group that /etc/group names. Not by getgrnam(3), which a static program does not have.
  var group: UInt32 {
    get throws(ProfileError) {
      let expected = "the name of a group of this machine"
      let name = try string(expected)
      let file = (try? Self.bytes(ofFile: "/etc/group")) ?? []
      for line in String(decoding: file, as: UTF8.self).split(separator: "\n") {
        let fields = line.split(separator: ":", omittingEmptySubsequences: false)
        if fields.count > 2, fields[0] == name, let id = UInt32(fields[2]) { return id }
      }
      throw mistake(expected)
    }
  }
}
