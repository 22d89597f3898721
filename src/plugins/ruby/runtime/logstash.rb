# What else of Logstash scripts use: its logger, JSON, settings and version. There is no Java behind this Ruby.
module LogStash
  class Error < StandardError; end

  class Logger
    LEVELS = %w[trace debug info warn error fatal].freeze

    LEVELS.each do |level|
      define_method(level) do |message = nil, details = nil|
        text = message.to_s
        text += " #{details.inspect}" unless details.nil? || (details.respond_to?(:empty?) && details.empty?)
        Spillway::Wire.log(level, text)
      end
      define_method("#{level}?") { level != "trace" }
    end
  end

  module Json
    class ParserError < LogStash::Error; end
    class GeneratorError < LogStash::Error; end

    def self.load(text, _options = {})
      ::JSON.parse(text, allow_nan: true)
    rescue ::JSON::ParserError => e
      raise ParserError, e.message
    end

    def self.dump(value, _options = {})
      ::JSON.generate(numbers(value))
    rescue ::JSON::GeneratorError => e
      raise GeneratorError, e.message
    end

    # JSON has no NaN: it leaves as a text, as from Logstash.
    def self.numbers(value)
      case value
      when Float then value.finite? ? value : value.to_s
      when Array then value.map { |item| numbers(item) }
      when Hash then value.transform_values { |item| numbers(item) }
      else value
      end
    end
    private_class_method :numbers
  end

  module Util; end

  class Settings
    def initialize(values)
      @values = values
    end

    def get(name)
      @values.fetch(name) { raise ArgumentError, "Setting \"#{name}\" is not known to scripts" }
    end
    alias get_value get

    def registered?(name)
      @values.key?(name)
    end
  end
end

module Java
  WITHOUT = "Java classes need JRuby, and this is Ruby without Java"

  def self.const_missing(_name)
    raise NameError, WITHOUT
  end

  def self.method_missing(*)
    raise NameError, WITHOUT
  end

  def self.respond_to_missing?(*)
    false
  end
end

module Kernel
  private

  def java
    Java
  end

  def java_import(*)
    raise NameError, Java::WITHOUT
  end
end
