"""The support agent: works customers' tickets on a desk with orders, payments and a knowledge base."""
