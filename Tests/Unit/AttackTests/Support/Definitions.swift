import AttoATT
import AttoGATT

/// The service at 0x0001 whose values are at 0x0003, 0x0005, and so on.
func service(_ characteristics: CharacteristicDefinition...) -> ServiceDefinition {
  ServiceDefinition(0x1800, handle: 1, characteristics: characteristics)
}

/// A value that can be read and written by default.
func value(
  _ octets: [UInt8], _ permissions: AttributePermissions = .readWrite,
  _ properties: CharacteristicProperties = [.read, .write], limits: ValueLimits = ValueLimits(),
  descriptors: [DescriptorDefinition] = []
) -> CharacteristicDefinition {
  CharacteristicDefinition(
    0x2A00, properties: properties, value: .stored(octets, limits), permissions: permissions,
    descriptors: descriptors)
}

/// A value of the application.
func asked() -> CharacteristicDefinition {
  CharacteristicDefinition(
    0x2A00, properties: [.read, .write], value: .application(ValueLimits()),
    permissions: .readWrite)
}

extension Result {
  var error: Failure? { if case .failure(let error) = self { error } else { nil } }
  var isSuccess: Bool { error == nil }
}

extension ProcedureError {
  var isViolation: Bool { if case .violation = self { true } else { false } }
}
