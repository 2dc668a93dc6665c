import AttoLinks
import AttoStreams
import CAttoLinux
import Glibc

/// `atto-gateway status`: asks a running gateway.
enum StatusCommand {
  /// How long the gateway may be silent, in milliseconds.
  static let patience: Int32 = 10_000
  /// Octets of an answer.
  static let lengthLimit = 16 << 20

  static func run(_ control: String?, isJSON: Bool) {
    let runtime = environment("XDG_RUNTIME_DIR").map { "\($0)/atto-gateway/control" }
    let usual = [
      environment("RUNTIME_DIRECTORY").map { "\($0)/control" }, runtime,
      "/run/atto-gateway/control",
    ].compactMap { $0 }
    let path = control ?? usual.first { access($0, F_OK) == 0 } ?? usual[0]
    do throws(LinkError) {
      guard let answer = try ask(path, isJSON ? "/status.json" : "/status.txt") else {
        fail("the gateway at \(path) does not answer")
      }
      write(answer)
    } catch {
      let hint =
        error.errno == EACCES
        ? "use sudo: the gateway runs as another user"
        : "is the gateway running? --control names its socket"
      fail("\(error)\nhint: \(hint)")
    }
  }

  private static func fail(_ text: String) -> Never {
    Gateway.complain(text)
    exit(3)
  }

  /// - Returns: the body of the response; nil if it is not a good one, or none comes.
  private static func ask(_ path: String, _ page: String) throws(LinkError) -> [UInt8]? {
    let socket = try UnixStreams.connect(path: path)
    let request = Array("GET \(page) HTTP/1.0\r\n\r\n".utf8)
    guard clinux_send(socket.rawValue, request, request.count) == request.count else { return nil }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while answer.count < lengthLimit {
      guard clinux_poll(socket.rawValue, CLINUX_POLLIN, patience) > 0 else { return nil }
      let count = clinux_receive_stream(socket.rawValue, &buffer, buffer.count)
      if count == 0 { break }
      guard count > 0 else { return nil }
      answer += buffer[..<count]
    }
    guard answer.starts(with: "HTTP/1.1 200".utf8) else { return nil }
    let separator = Array("\r\n\r\n".utf8)
    for index in answer.indices.dropLast(3) where answer[index..<index + 4].elementsEqual(separator)
    {
      return Array(answer[(index + 4)...])
    }
    return nil
  }

  private static func write(_ octets: [UInt8]) {
    var rest = octets[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        if errno != EPIPE { fail("standard output cannot be written") }
        return
      }
    }
  }
}
