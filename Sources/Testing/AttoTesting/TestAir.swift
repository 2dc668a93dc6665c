import AttoATT
import AttoEventLoop
import AttoRadio
import AttoVirtualRadio
import Glibc

/// Simulated radios of one test, which hear each other and nobody else. They share a temporary
/// folder, which is removed when the air is released. Keep it as long as its adapters.
///
/// ```swift
/// let air = TestAir()
/// let strap = try air.adapter(named: "Strap")
/// let listener = try await server.advertise(on: strap, options: ListenOptions(advertising: parameters))
/// let central = try air.adapter()
/// let connection = try await Connection.connect(to: Endpoint("air:Strap"), adapter: central)
/// ```
public final class TestAir: Sendable {
  private let folder: AirFolder

  /// The folder, for `$ATTO_AIR` of other programs that a test starts.
  public var path: String { folder.path }

  /// An air without radios, in `$TMPDIR` or `/tmp`. Traps if no folder can be created there.
  public init() {
    let place = AirFolder.environmentVariable("TMPDIR") ?? "/tmp"
    var template = Array("\(place)/atto-air-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      fatalError("cannot create a folder in \(place): \(String(cString: strerror(errno)))")
    }
    let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    do {
      folder = try AirFolder(path: path)
    } catch {
      // As for the folder itself: a test cannot go on without it.
      fatalError("cannot use the folder \(path) for simulated radios: \(error)")
    }
  }

  deinit { folder.remove() }

  /// Adds a radio. It is on the air while it advertises, and leaves it when it is released.
  ///
  /// - Parameters:
  ///   - name: 1 to 64 octets, from which the address is derived. Without one the address is random.
  ///   - maximumSecurity: `.low` for a radio that cannot encrypt.
  ///   - loop: the loop of the radio, such as ``TestClock/loop``.
  /// - Throws: `invalidName`; `addressInUse` if the air has a radio of this name; a system error.
  public func adapter(
    named name: String? = nil, maximumSecurity: LinkSecurity = LinkSecurity(.fips),
    loop: Loop = .shared
  ) throws(RadioError) -> Adapter {
    try Adapter.virtual(
      name: name, folder: folder.path, maximumSecurity: maximumSecurity, loop: loop)
  }
}
