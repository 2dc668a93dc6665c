import AttoATT
import AttoGATT

/// A profile with all handles assigned.
public struct ProfileLayout: Sendable, Equatable {
  /// The GAP and GATT services that the server adds unless the profile lists them or forbids them.
  /// Vol 3, Part C, 12, and Part G, 7.
  public internal(set) var automaticServices: [ServiceDefinition] = []
  /// The profile's services with all handles, in the order of their handles.
  ///
  /// In a GATT service that the profile lists, the server maintains Client Supported Features, and
  /// Database Hash if it has no value.
  public internal(set) var services: [ServiceDefinition] = []
  /// The values with a behaviour, in the order of their handles. The program that runs the server
  /// carries the behaviours out.
  public internal(set) var behaviours: [ScriptedValue] = []

  /// A value with a behaviour.
  public struct ScriptedValue: Sendable, Equatable {
    /// The value's handle.
    public let handle: AttributeHandle
    /// The behaviour.
    public let behaviour: Profile.Behaviour
    /// The handle of the value that echoes written values, or notifies their octets.
    public internal(set) var echo: AttributeHandle?
    /// The initial value.
    public let value: [UInt8]
    /// The length limits.
    public let limits: ValueLimits
  }

  /// Builds the database of all services.
  ///
  /// - Throws: ``ProfileError`` if the database does not accept a service.
  public func database() throws(ProfileError) -> Database {
    var database = Database()
    let all = automaticServices + services
    for service in all.sorted(by: { ($0.handle ?? .min) < ($1.handle ?? .min) }) {
      do throws(DatabaseError) {
        try database.add(service)
      } catch {
        throw ProfileError(
          ProfilePath() / "services", expected: "services that fit into one database",
          found: "\(error)")
      }
    }
    return database
  }
}

extension Profile {
  /// Assigns the handles: those that the profile states, and otherwise the next free handle in the
  /// order of the profile.
  ///
  /// - Parameter start: the first handle, for services that are added to a running server; ignored if
  ///   the profile states handles.
  /// - Throws: ``ProfileError`` if a handle is in use, out of order or outside its service, or a
  ///   reference is unknown or ambiguous.
  public func layout(from start: AttributeHandle? = nil) throws(ProfileError) -> ProfileLayout {
    var placement = Placement()
    return try placement.place(self, from: start)
  }

  /// Builds the database of the profile and the automatic services.
  ///
  /// - Throws: ``ProfileError``, as ``layout(from:)``.
  public func database() throws(ProfileError) -> Database { try layout().database() }
}
